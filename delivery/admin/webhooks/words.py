"""How webhooks and their calls are spoken of in the admin."""

from collections.abc import Mapping
from types import MappingProxyType

from common.admin.html import when
from common.text import pluralize, shortened
from delivery.models import Webhook, WebhookCall
from delivery.webhooks.calls import TEST
from delivery.webhooks.outbox import EVENT_WORDS

WHAT: Mapping[str, str] = MappingProxyType({**EVENT_WORDS, TEST: "A test"})
ANSWER_SHOWN = 80


def webhook_state(webhook: Webhook) -> tuple[str, str]:
    """A key for the colour, and a word."""
    if webhook.disabled_at:
        return "off", "switched off"
    if not webhook.active:
        return "paused", "paused"
    return ("failing", "failing") if webhook.failures else ("active", "active")


def explained(webhook: Webhook) -> str:
    """The same as a sentence or two."""
    if webhook.disabled_at:
        return (
            f"Switched off on {when(webhook.disabled_at)}, because its address said that it is gone"
            f" ({webhook.disabled_reason}). Give another address, then resume it."
        )
    if not webhook.active:
        return "Paused: nothing is sent, and what happens is not noted for it. What waits goes on waiting."
    if webhook.failures:
        return (
            f"It has taken nothing since {when(webhook.failing_since)}; it is tried again from"
            f" {when(webhook.free_at)}. See below what it said."
        )
    return "It is called when something happens."


def outcome(call: WebhookCall) -> str:
    """How a call stands, in a few words."""
    tries = pluralize(call.attempts, "try", "tries")
    match call.state:
        case WebhookCall.State.QUEUED:
            return f"waits after {tries}; next {next_step(call)}" if call.attempts else "waits"
        case WebhookCall.State.SENDING:
            return "is being sent"
        case WebhookCall.State.SENT:
            return "taken" if call.attempts < 2 else f"taken after {tries}"
    return f"given up after {tries}"


def said(call: WebhookCall) -> str:
    """The last answer."""
    return shortened(call.error, ANSWER_SHOWN) or (f"HTTP {call.status}" if call.status else "–")


def next_step(call: WebhookCall) -> str:
    """When, if ever, the call is tried again."""
    if call.state != WebhookCall.State.QUEUED:
        return "–"
    if not call.webhook.active:
        return "when the webhook is resumed"
    return when(max(call.due_at, call.webhook.free_at or call.due_at))
