"""Claim webhook calls, and make them in threads without the database.

A webhook gets few calls at a time, after a failure only one.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from channels.rules.webhooks import is_within_rotation, signed_headers
from common.db.leases import lease
from common.net.client import FetchError, client
from common.secrets import Sealed, opened
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
        ours = lease(now, CALL_LEASE)
        WebhookCall.objects.filter(pk__in=[call.pk for call in calls]).update(
            state=WebhookCall.State.SENDING,
            lease_token=ours.token,
            lease_until=ours.until,
            attempts=F("attempts") + 1,
        )
        for call in calls:
            call.attempts += 1
            jobs.append(job_of(call, webhook, ours.token, now))
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
