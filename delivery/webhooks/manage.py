"""Webhook administration."""

import secrets
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from channels.rules.webhooks import GIVE_UP_AFTER, SECRET_BYTES, secret_of
from common.db.leases import lease
from common.ports.events import EventKind
from common.ports.panels import CannotAct
from common.secrets import opened
from delivery.models import Webhook, WebhookCall
from delivery.webhooks.calls import CALL_LEASE, TEST, WebhookResponse, job_of, post_call, record_response
from delivery.webhooks.outbox import body_of, call_of, fresh_id
from feeds.addresses import is_address
from subscriptions.models import Subscribable

MOST_WEBHOOKS = 50
WHAT_A_TEST_SAYS = "This is a test. Nothing happened."


@transaction.atomic
def add_webhook(
    *, name: str, url: str, events: Sequence[str], newsletters: Iterable[Subscribable] = (), now: datetime
) -> tuple[Webhook, str]:
    """Return the webhook and its secret, shown only once. Raises ValidationError."""
    if Webhook.objects.count() >= MOST_WEBHOOKS:
        raise ValidationError(f"There are {MOST_WEBHOOKS} webhooks already. Delete one that is not needed.")
    secret = _fresh_secret()
    webhook = Webhook(created_at=now)
    webhook.secrets = {"secret": secret}
    _change(webhook, name=name, url=url, events=events, newsletters=newsletters)
    return webhook, secret


@transaction.atomic
def alter_webhook(
    *, webhook: Webhook, name: str, url: str, events: Sequence[str], newsletters: Iterable[Subscribable] = ()
) -> None:
    """Waiting calls use the new address now. Raises ValidationError."""
    locked = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    if url != locked.url:
        locked.failures, locked.failing_since, locked.free_at = 0, None, None
    _change(locked, name=name, url=url, events=events, newsletters=newsletters)


def _change(
    webhook: Webhook, *, newsletters: Iterable[Subscribable], events: Sequence[str], **values: Any
) -> None:
    for field, value in values.items():
        setattr(webhook, field, value)
    if not events or set(events) - set(EventKind):
        raise ValidationError({"events": f"Choose at least one of {', '.join(EventKind)}."})
    webhook.events = [kind.value for kind in EventKind if kind in events]
    if not is_address(webhook.url):
        raise ValidationError({"url": "It has to be an address that begins with https:// or http://."})
    if "@" in urlsplit(webhook.url).netloc:
        raise ValidationError(
            {"url": "Leave user and password out of the address: the signature says who is calling."}
        )
    webhook.full_clean()
    webhook.save()
    webhook.newsletters.set(newsletters)


@transaction.atomic
def rotate_secret(*, webhook: Webhook, now: datetime) -> str:
    """Return a new secret. The old one also signs for a day, so that receivers can switch."""
    locked = Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    secret = _fresh_secret()
    try:
        previous = opened(locked.secrets).get("secret", "")
    except ValueError:  # a new SECRET_KEY: this repairs it
        previous = ""
    locked.secrets = {"secret": secret, **({"previous": previous} if previous else {})}
    locked.rotated_at = now
    locked.save(update_fields=["secrets", "rotated_at"])
    return secret


def pause_webhooks(keys: Collection[int]) -> int:
    """Stop calls, and new events. Waiting calls stay."""
    return Webhook.objects.filter(pk__in=keys, active=True).update(active=False)


def resume_webhooks(keys: Collection[int]) -> int:
    """Send waiting calls, also for webhooks that a 410 disabled."""
    return Webhook.objects.filter(pk__in=keys, active=False).update(
        active=True, disabled_at=None, disabled_reason="", failures=0, failing_since=None, free_at=None
    )


@transaction.atomic
def make_webhooks_due(keys: Collection[int], *, now: datetime) -> int:
    """Make waiting calls due now. Return how many."""
    Webhook.objects.filter(pk__in=keys).update(free_at=None)
    return WebhookCall.objects.filter(webhook__in=keys, state=WebhookCall.State.QUEUED).update(due_at=now)


def drop_webhooks(keys: Collection[int]) -> int:
    """Delete webhooks and calls. Return how many webhooks."""
    return Webhook.objects.filter(pk__in=keys).delete()[1].get(Webhook._meta.label, 0)


def send_test_call(*, webhook: Webhook, now: datetime) -> WebhookResponse:
    """Call once, even if paused."""
    ours = lease(now, CALL_LEASE)
    body = body_of(TEST, now, {"message": WHAT_A_TEST_SAYS, "webhook": webhook.name})
    call = call_of(webhook.pk, fresh_id(), TEST, body, now=now)
    call.state, call.attempts = WebhookCall.State.SENDING, 1
    call.lease_token, call.lease_until = ours.token, ours.until
    call.save()
    job = job_of(call, webhook, ours.token, now)
    answer = post_call(job, at=now)
    record_response(job=job, answer=answer, now=now)
    return answer


@transaction.atomic
def retry_calls(*, keys: Collection[int], now: datetime) -> int:
    """Repeat calls with their ids. Return how many. Raises CannotAct."""
    ready = WebhookCall.objects.filter(pk__in=keys).exclude(state=WebhookCall.State.SENDING)
    if ready.filter(body="").exists():
        raise CannotAct("What one of these said was forgotten: its person was erased. Leave it out.")
    if ready.filter(webhook__active=False).exists():
        raise CannotAct("The webhook is paused: resume it first.")
    Webhook.objects.filter(calls__in=ready).update(free_at=None)
    return ready.update(
        state=WebhookCall.State.QUEUED, due_at=now, give_up_at=now + GIVE_UP_AFTER, attempts=0, sent_at=None
    )


def forgettable_calls(before: datetime) -> "QuerySet[WebhookCall]":
    """Return older calls, except running ones."""
    return WebhookCall.objects.filter(created_at__lt=before).exclude(state=WebhookCall.State.SENDING)


def _fresh_secret() -> str:
    return secret_of(secrets.token_bytes(SECRET_BYTES))
