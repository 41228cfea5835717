"""What an answer means, written down: for the call, and for the webhook."""

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from common.text import one_line, shortened
from delivery.models import Webhook, WebhookCall
from delivery.rules.webhooks import GIVE_UP_AFTER, next_try, rests_until, verdict
from delivery.services.claiming_calls import Job
from delivery.services.posting_calls import Answer

log = logging.getLogger(__name__)

MAX_ERROR = 500
NEVER_SENT = "It was not sent: the address had taken nothing for three days."
State = WebhookCall.State
DONE = (State.SENT, State.FAILED)


@transaction.atomic
def record(*, job: Job, answer: Answer, now: datetime) -> None:
    """Ends the call or says when it is tried again. That it was taken counts, however late it is known."""
    match verdict(answer.status):
        case "taken":
            _end(_unsent(job), State.SENT, answer, sent_at=now)
            _works(job)
        case "gone" if not job.is_test:
            _end(_ours(job), State.FAILED, answer)
            _switch_off(job, answer, now)
        case _ if job.is_test:
            _end(_ours(job), State.FAILED, answer)
        case _:
            _failed(job, answer, now)
    _forget(job)


def _ours(job: Job) -> "QuerySet[WebhookCall]":
    return WebhookCall.objects.filter(pk=job.pk, state=State.SENDING, lease_token=job.token)


def _unsent(job: Job) -> "QuerySet[WebhookCall]":
    return WebhookCall.objects.filter(pk=job.pk).exclude(state=State.SENT)


def _end(rows: "QuerySet[WebhookCall]", state: str, answer: Answer, **more: datetime) -> None:
    """Whatever it becomes, it is not being sent any more."""
    said = {"status": answer.status, "error": _short(answer.error)}
    rows.update(state=state, lease_token=None, lease_until=None, **said, **more)


def _failed(job: Job, answer: Answer, now: datetime) -> None:
    again = next_try(job.attempts, now=now, give_up_at=job.give_up_at, wish=answer.wish)
    if again is None:
        _end(_ours(job), State.FAILED, answer)
    else:
        _end(_ours(job), State.QUEUED, answer, due_at=again)
    webhook = Webhook.objects.select_for_update(no_key=True).filter(pk=job.webhook_id).first()
    if webhook is not None:
        _rest(webhook, answer, now)


def _rest(webhook: Webhook, answer: Answer, now: datetime) -> None:
    webhook.failures += 1
    webhook.failing_since = webhook.failing_since or now
    webhook.free_at = rests_until(webhook.failures, now=now, wish=answer.wish)
    webhook.save(update_fields=["failures", "failing_since", "free_at"])
    if webhook.failing_since <= now - GIVE_UP_AFTER:
        # One by one, with rests between, they would only pile up.
        waiting = WebhookCall.objects.filter(webhook=webhook, state=State.QUEUED, give_up_at__lte=now)
        waiting.update(state=State.FAILED, error=NEVER_SENT)


def _works(job: Job) -> None:
    rows = Webhook.objects.filter(pk=job.webhook_id, failures__gt=0)
    rows.update(failures=0, failing_since=None, free_at=None)


def _switch_off(job: Job, answer: Answer, now: datetime) -> None:
    """410 means that nobody wants to be called there again (Standard Webhooks: "should disable")."""
    rows = Webhook.objects.filter(pk=job.webhook_id, active=True)
    if rows.update(active=False, disabled_at=now, disabled_reason=_short(answer.error)):
        log.warning("a webhook was switched off: its address is gone", extra={"webhook": job.webhook_id})


def _forget(job: Job) -> None:
    WebhookCall.objects.filter(pk=job.pk, forget=True, state__in=DONE).exclude(body="").update(body="")


def _short(text: str) -> str:
    # What a server or library says may hold what PostgreSQL refuses, and this must not fail.
    return shortened(one_line(text), MAX_ERROR)
