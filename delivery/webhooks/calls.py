"""Claim webhook calls, and make them in threads without the database.

A webhook gets few calls at a time, after a failure only one. An unrecorded call is repeated with its id.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from channels.rules.webhooks import (
    GIVE_UP_AFTER,
    is_within_rotation,
    next_try,
    signed_headers,
    verdict,
    webhook_rests_until,
)
from common.clock import utcnow
from common.counters import count
from common.db.leases import RELEASED, lease
from common.db.outage import retry_until_stored
from common.net.client import FetchError, client
from common.passes import TimeBudget
from common.secrets import Sealed, opened
from common.shutdown import stopping
from common.text import one_line, shortened
from common.transactions import NetworkInTransaction
from delivery.models import Webhook, WebhookCall
from feeds.rules.pace import retry_at

log = logging.getLogger(__name__)

# A call takes ten seconds at most and starts at once.
CALL_LEASE = timedelta(seconds=60)
CALLS_AT_ONCE = 16
CALLS_OF_ONE = 4
# An admin's test call.
TEST = "webhook.test"
CALL_SECONDS = 10.0
MAX_RESPONSE_TEXT = 300
REDIRECTED = "It redirects to another address, which is not followed: give that address instead."
MAX_ERROR = 500
CALL_NEVER_SENT = "It was not sent: the address had refused every call for three days."
DONE = (WebhookCall.State.SENT, WebhookCall.State.FAILED)
# While calls are running.
SECONDS_BETWEEN_CLAIMS = 0.5


@dataclass(frozen=True, slots=True)
class WebhookJob:
    """Claimed call. `attempts` includes this one."""

    pk: int
    token: UUID
    webhook_id: int
    event_id: str
    body: str
    url: str
    secrets: Sealed | dict[str, str]
    both_sign: bool
    attempts: int
    give_up_at: datetime
    is_test: bool = False


@transaction.atomic
def claim_calls(*, now: datetime, busy: Mapping[int, int]) -> list[WebhookJob]:
    """Lease calls to this process. `busy`: its running calls by webhook."""
    jobs: list[WebhookJob] = []
    free = CALLS_AT_ONCE - sum(busy.values())
    # Working webhooks first.
    for webhook in callable_webhooks(now).order_by("failures", "pk") if free else ():
        width = (1 if webhook.failures else CALLS_OF_ONE) - busy.get(webhook.pk, 0)
        most = min(width, free - len(jobs))
        if most <= 0:
            continue
        rows = _due(now).filter(webhook=webhook).order_by("due_at", "pk")
        calls = list(rows.select_for_update(skip_locked=True)[:most])
        token, until = lease(now, CALL_LEASE)
        WebhookCall.objects.filter(pk__in=[call.pk for call in calls]).update(
            state=WebhookCall.State.SENDING, lease_token=token, lease_until=until, attempts=F("attempts") + 1
        )
        for call in calls:
            call.attempts += 1
            jobs.append(job_of(call, webhook, token, now))
    return jobs


def callable_webhooks(now: datetime) -> "QuerySet[Webhook]":
    due = _due(now).filter(webhook=OuterRef("pk"))
    return Webhook.objects.filter(Q(free_at=None) | Q(free_at__lte=now), Exists(due), active=True)


def _due(now: datetime) -> "QuerySet[WebhookCall]":
    """Return due calls, and a dead worker's."""
    lost = Q(state=WebhookCall.State.SENDING, lease_until__lt=now)
    return WebhookCall.objects.filter(Q(state=WebhookCall.State.QUEUED, due_at__lte=now) | lost)


def job_of(call: WebhookCall, webhook: Webhook, token: UUID, now: datetime) -> WebhookJob:
    return WebhookJob(
        pk=call.pk,
        token=token,
        webhook_id=webhook.pk,
        event_id=call.event_id,
        body=call.body,
        url=webhook.url,
        secrets=webhook.secrets,
        both_sign=is_within_rotation(webhook.rotated_at, now),
        attempts=call.attempts,
        give_up_at=call.give_up_at,
        is_test=call.kind == TEST,
    )


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """`status`: None without an answer. `error`: "" if accepted."""

    status: int | None
    error: str = ""
    wish: datetime | None = None


def post_call(job: WebhookJob, *, at: datetime) -> WebhookResponse:
    """Call the webhook (network). Any error is an answer."""
    data = job.body.encode()
    try:
        known = opened(job.secrets)
        names = ("secret", "previous") if job.both_sign else ("secret",)
        keys = [known[name] for name in names if name in known]
        signed = signed_headers(event_id=job.event_id, at=at, body=data, secrets=keys)
        headers = {"Content-Type": "application/json", **signed}
        fetched = client().push(job.url, body=data, headers=headers, timeout=CALL_SECONDS)
        if 200 <= fetched.status < 300:
            return WebhookResponse(fetched.status)
        if 300 <= fetched.status < 400:
            return WebhookResponse(fetched.status, REDIRECTED)
        # The receiver's words, if text.
        kind = fetched.headers.get("content-type", "").lower()
        is_text = kind.startswith(("text/plain", "application/json", "application/problem+json"))
        words = one_line(fetched.body.decode("utf-8", "replace")) if is_text else ""
        said = f"HTTP {fetched.status}: {shortened(words, MAX_RESPONSE_TEXT)}"
        wish = retry_at(fetched.headers.get("retry-after", ""), at)
        return WebhookResponse(fetched.status, said if words else f"HTTP {fetched.status}.", wish)
    except (FetchError, ValueError) as error:
        return WebhookResponse(None, str(error))
    except NetworkInTransaction:
        raise
    except Exception as error:
        log.exception("calling a webhook failed", extra={"call": job.pk})
        return WebhookResponse(None, f"{type(error).__name__}: {error}")


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
