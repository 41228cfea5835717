"""Calls that are due are claimed, made in threads without a transaction, and recorded.

At least once: what was sent and not recorded is sent again, with the same id.
"""

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from common.clock import utcnow
from common.counters import count
from common.db.leases import RELEASED
from common.db.outage import retry_until_stored
from common.passes import TimeBudget
from common.shutdown import stopping
from common.text import one_line, shortened
from delivery.models import Webhook, WebhookCall
from delivery.rules.webhooks import GIVE_UP_AFTER, next_try, rests_until, verdict
from delivery.webhooks.calls import AT_ONCE, Job, WebhookResponse, claim, is_any_due, post

MAX_ERROR = 500
NEVER_SENT = "It was not sent: the address had taken nothing for three days."
State = WebhookCall.State
DONE = (State.SENT, State.FAILED)
# While calls are under way, seconds until others are looked for.
LOOK_AGAIN = 0.5


@transaction.atomic
def record(*, job: Job, answer: WebhookResponse, now: datetime) -> None:
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


def _end(rows: "QuerySet[WebhookCall]", state: str, answer: WebhookResponse, **more: datetime) -> None:
    """Whatever it becomes, it is not being sent any more."""
    said = {"status": answer.status, "error": _short(answer.error)}
    rows.update(state=state, **RELEASED, **said, **more)
    outcome = {State.QUEUED: "put off"}.get(State(state), str(state))
    transaction.on_commit(lambda: count("webhook_calls", outcome))


def _failed(job: Job, answer: WebhookResponse, now: datetime) -> None:
    again = next_try(job.attempts, now=now, give_up_at=job.give_up_at, wish=answer.wish)
    if again is None:
        _end(_ours(job), State.FAILED, answer)
    else:
        _end(_ours(job), State.QUEUED, answer, due_at=again)
    webhook = Webhook.objects.select_for_update(no_key=True).filter(pk=job.webhook_id).first()
    if webhook is not None:
        _rest(webhook, answer, now)


def _rest(webhook: Webhook, answer: WebhookResponse, now: datetime) -> None:
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


def _switch_off(job: Job, answer: WebhookResponse, now: datetime) -> None:
    """410 means that nobody wants to be called there again (Standard Webhooks: "should disable")."""
    rows = Webhook.objects.filter(pk=job.webhook_id, active=True)
    if rows.update(active=False, disabled_at=now, disabled_reason=_short(answer.error)):
        log.warning("a webhook was switched off: its address is gone", extra={"webhook": job.webhook_id})


def _forget(job: Job) -> None:
    WebhookCall.objects.filter(pk=job.pk, forget=True, state__in=DONE).exclude(body="").update(body="")


def _short(text: str) -> str:
    # What a server or library says may hold what PostgreSQL refuses, and this must not fail.
    return shortened(one_line(text), MAX_ERROR)


log = logging.getLogger(__name__)


def call_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Makes the calls that are due, or what the budget allows. Returns how many were made.

    A receiver that is slow or gone takes few of the threads, so that it keeps nobody else waiting.
    """
    if not is_any_due(clock()):
        return 0
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="webhook") as pool:
        return _work(pool, clock, TimeBudget(budget))


def _work(pool: ThreadPoolExecutor, clock: Callable[[], datetime], left: TimeBudget) -> int:
    running: dict[Future[WebhookResponse], Job] = {}
    made = 0
    while True:
        if not stopping.is_set() and not left.is_spent:
            for job in claim(now=clock(), busy=Counter(job.webhook_id for job in running.values())):
                running[pool.submit(post, job, at=clock())] = job
        if not running:
            return made
        done, _ = wait(running, timeout=LOOK_AGAIN, return_when=FIRST_COMPLETED)
        for future in done:
            _record(running.pop(future), future, clock())
            made += 1


def _record(job: Job, future: "Future[WebhookResponse]", now: datetime) -> None:
    """An outcome that cannot be recorded stops no other: its lease ends, and it is sent again."""
    answer = future.result()
    try:
        retry_until_stored(lambda: record(job=job, answer=answer, now=now))
    except Exception:
        log.exception("an answer could not be recorded", extra={"call": job.pk})
