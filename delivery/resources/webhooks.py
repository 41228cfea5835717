"""Webhooks and their calls: what can be done with them, by a command and the admin."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any

from django.db import transaction
from django.db.models import QuerySet

from common.cli.commands import shown_fields
from common.ports.events import EventKind
from common.ports.panels import CannotAct
from common.resources import ADMIN, COMMAND, Argument, Resource, verb
from common.text import pluralize
from delivery.models import Webhook, WebhookCall
from delivery.webhooks.outbox import add_webhook, retry_calls, rotate_secret, send_test_call
from subscriptions.resources.newsletters import newsletters as all_newsletters

KEEP_IT = "Keep it: it is shown this once."


def asks_to_rotate(webhooks: Sequence[Webhook]) -> Sequence[str]:
    return [
        f"{pluralize(len(webhooks), 'webhook gets', 'webhooks get')} another secret. For a day calls are "
        "signed with the old one as well: tell the receiver the new one within that time."
    ]


def asks_about_calls(webhooks: Sequence[Webhook]) -> Sequence[str]:
    return [
        f"{webhook} will be deleted with the record of its calls;"
        f" {pluralize(webhook.calls.filter(state='queued').count(), 'call')} will not be made."
        for webhook in webhooks
    ]


class Webhooks(Resource[Webhook]):
    noun = "webhook"
    list_help = "List the webhooks: other programs that are called when something happens."
    empty = "There are no webhooks. Add one: add_webhook NAME --url https://… --event issue.published"

    def rows(self) -> "QuerySet[Webhook]":
        return Webhook.objects.prefetch_related("newsletters")

    def shown(self, row: Webhook) -> Mapping[str, Any]:
        return {
            **shown_fields(row, "id name url events"),
            "newsletters": [newsletter.name for newsletter in row.newsletters.all()],
            **shown_fields(row, "active failing_since disabled_reason"),
        }

    @verb("Add", on=(COMMAND,), detail=False)
    def add(
        self,
        *,
        name: Annotated[str, Argument("Its purpose, such as shop.", is_first=True)],
        url: Annotated[str, Argument("Where it is called.")],
        events: Annotated[
            Sequence[str], Argument("May be repeated.", option="event", values=tuple(EventKind))
        ],
        newsletters: Annotated[
            Sequence[str],
            Argument(
                "Only events of this newsletter; may be repeated. Default: all.",
                option="newsletter",
                metavar="NAME",
            ),
        ] = (),
        now: datetime,
    ) -> Mapping[str, Any]:
        """Add a webhook, and print its secret, which is not to be had later."""
        chosen = [all_newsletters.find(each) for each in newsletters]
        webhook, secret = add_webhook(name=name, url=url, events=events, newsletters=chosen, now=now)
        return {**self.shown(webhook), "secret": secret}

    # Each waits for a server.
    @verb("Send a test", on=(ADMIN,), most=3)
    def test(self, webhook: Webhook, *, now: datetime) -> str:
        answer = send_test_call(webhook=webhook, now=now)
        if answer.error:
            raise CannotAct(f"{webhook} did not accept the test. {answer.error}")
        return f"{webhook} took the test (HTTP {answer.status})."

    @verb("Pause", on=(ADMIN,), fits=lambda webhook: webhook.active)
    def pause(self, webhook: Webhook) -> str:
        # Stops calls, and new events. Waiting calls stay.
        Webhook.objects.filter(pk=webhook.pk, active=True).update(active=False)
        return f"{webhook} is paused."

    @verb("Resume", on=(ADMIN,), fits=lambda webhook: not webhook.active)
    def resume(self, webhook: Webhook) -> str:
        # Also of one that a 410 disabled.
        Webhook.objects.filter(pk=webhook.pk, active=False).update(
            active=True, disabled_at=None, disabled_reason="", failures=0, failing_since=None, free_at=None
        )
        return f"{webhook} is resumed: waiting calls are sent now."

    @verb("Try again now", on=(ADMIN,), fits=lambda webhook: webhook.active and bool(webhook.failures))
    def hurry(self, webhook: Webhook, *, now: datetime) -> str:
        with transaction.atomic():
            Webhook.objects.filter(pk=webhook.pk).update(free_at=None)
            count = webhook.calls.filter(state=WebhookCall.State.QUEUED).update(due_at=now)
        return f"{pluralize(count, 'call')} tried again now."

    @verb("Change the secret", on=(ADMIN,), asks=asks_to_rotate, is_harmful=True)
    def rotate(self, webhook: Webhook, *, now: datetime) -> str:
        return f"The new secret of {webhook} is {rotate_secret(webhook=webhook, now=now)}. {KEEP_IT}"

    @verb(
        "Delete",
        on=(COMMAND, ADMIN),
        asks=asks_about_calls,
        is_harmful=True,
        permission="drop",
        deletes=(204,),
    )
    def drop(self, webhook: Webhook) -> str:
        """Delete a webhook with its waiting calls and its log."""
        Webhook.objects.filter(pk=webhook.pk).delete()
        return f"{webhook} is deleted and called no more."


webhooks = Webhooks()


class WebhookCalls(Resource[WebhookCall]):
    noun = "call"

    def rows(self) -> "QuerySet[WebhookCall]":
        return WebhookCall.objects.defer("body")

    @verb("Send again now", on=(ADMIN,), fits=lambda call: call.state != "sending")
    def retry(self, call: WebhookCall, *, now: datetime) -> str:
        if not retry_calls(keys=[call.pk], now=now):
            raise CannotAct("It is being sent.")
        return "Queued again, under the id that it had."


webhook_calls = WebhookCalls()
