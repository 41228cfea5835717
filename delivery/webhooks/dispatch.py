"""Make due calls in threads, without a transaction, and record them.

At least once: an unrecorded call is repeated with its id.
"""

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import QuerySet

from channels.rules.webhooks import GIVE_UP_AFTER, next_try, verdict, webhook_rests_until
from common.clock import utcnow
from common.counters import count
from common.db.leases import RELEASED
from common.db.outage import retry_until_stored
from common.passes import TimeBudget
from common.shutdown import stopping
from common.text import one_line, shortened
from delivery.models import Webhook, WebhookCall
from delivery.webhooks.calls import (
    CALLS_AT_ONCE,
    WebhookJob,
    WebhookResponse,
    callable_webhooks,
    claim_calls,
    post_call,
)

log = logging.getLogger(__name__)

MAX_ERROR = 500
CALL_NEVER_SENT = "It was not sent: the address had refused every call for three days."
DONE = (WebhookCall.State.SENT, WebhookCall.State.FAILED)
# While calls are running.
SECONDS_BETWEEN_CLAIMS = 0.5


@transaction.atomic
def record_response(*, job: WebhookJob, answer: WebhookResponse, now: datetime) -> None:
    """End or retry the call. Late acceptances count."""
    webhook = Webhook.objects.filter(pk=job.webhook_id)
    match verdict(answer.status):
        case "taken":
            unsent = WebhookCall.objects.filter(pk=job.pk).exclude(state=WebhookCall.State.SENT)
            _end(unsent, WebhookCall.State.SENT, answer, sent_at=now)
            webhook.filter(failures__gt=0).update(failures=0, failing_since=None, free_at=None)
        case "gone" if not job.is_test:
            _end(_ours(job), WebhookCall.State.FAILED, answer)
            # 410: no more calls there (Standard Webhooks: "should disable").
            off = {"active": False, "disabled_at": now, "disabled_reason": _short(answer.error)}
            if webhook.filter(active=True).update(**off):
                log.warning(
                    "a webhook was switched off: its address is gone", extra={"webhook": job.webhook_id}
                )
        case _ if job.is_test:
            _end(_ours(job), WebhookCall.State.FAILED, answer)
        case _:
            _put_off(job, answer, now)
    over = WebhookCall.objects.filter(pk=job.pk, forget=True, state__in=DONE)
    over.exclude(body="").update(body="")


def _ours(job: WebhookJob) -> "QuerySet[WebhookCall]":
    return WebhookCall.objects.filter(pk=job.pk, state=WebhookCall.State.SENDING, lease_token=job.token)


def _end(rows: "QuerySet[WebhookCall]", state: str, answer: WebhookResponse, **more: datetime) -> None:
    said = {"status": answer.status, "error": _short(answer.error)}
    rows.update(state=state, **RELEASED, **said, **more)
    outcome = {WebhookCall.State.QUEUED: "put off"}.get(WebhookCall.State(state), str(state))
    transaction.on_commit(lambda: count("webhook_calls", outcome))


def _put_off(job: WebhookJob, answer: WebhookResponse, now: datetime) -> None:
    """Retry the call unless it expired, and rest the webhook."""
    again = next_try(job.attempts, now=now, give_up_at=job.give_up_at, wish=answer.wish)
    if again is None:
        _end(_ours(job), WebhookCall.State.FAILED, answer)
    else:
        _end(_ours(job), WebhookCall.State.QUEUED, answer, due_at=again)
    webhook = Webhook.objects.select_for_update(no_key=True).filter(pk=job.webhook_id).first()
    if webhook is None:
        return
    webhook.failures += 1
    webhook.failing_since = webhook.failing_since or now
    webhook.free_at = webhook_rests_until(webhook.failures, now=now, wish=answer.wish)
    webhook.save(update_fields=["failures", "failing_since", "free_at"])
    if webhook.failing_since <= now - GIVE_UP_AFTER:
        # Retried one by one, they would pile up.
        waiting = webhook.calls.filter(state=WebhookCall.State.QUEUED, give_up_at__lte=now)
        waiting.update(state=WebhookCall.State.FAILED, error=CALL_NEVER_SENT)


def _short(text: str) -> str:
    # Others' words may have characters that PostgreSQL refuses; this must not fail.
    return shortened(one_line(text), MAX_ERROR)


def call_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Make due calls within the budget. Return how many.

    Slow receivers get few threads, so that others need not wait.
    """
    # Every few seconds, mostly in vain.
    if not callable_webhooks(clock()).exists():
        return 0
    left, made = TimeBudget(budget), 0
    running: dict[Future[WebhookResponse], WebhookJob] = {}
    with ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="webhook") as pool:
        while True:
            if not stopping.is_set() and not left.is_spent:
                busy = Counter(job.webhook_id for job in running.values())
                for job in claim_calls(now=clock(), busy=busy):
                    running[pool.submit(post_call, job, at=clock())] = job
            if not running:
                return made
            done, _ = wait(running, timeout=SECONDS_BETWEEN_CLAIMS, return_when=FIRST_COMPLETED)
            for future in done:
                job, answer, made = running.pop(future), future.result(), made + 1
                try:
                    retry_until_stored(partial(record_response, job=job, answer=answer, now=clock()))
                except Exception:
                    # Others go on; after its lease it is repeated.
                    log.exception("an answer could not be recorded", extra={"call": job.pk})
