"""Calls of webhooks: claimed, few of each at a time and one of a webhook that did not take the last, and
made.

A call is made in a thread, without the database.
"""

import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet

from common.db.leases import lease
from common.net.client import Fetched, FetchError, client
from common.secrets import Sealed, opened
from common.text import one_line, shortened
from common.transactions import NetworkInTransaction
from delivery.models import Webhook, WebhookCall
from delivery.rules.webhooks import is_within_rotation, signed_headers
from feeds.rules.pace import retry_at

# A call takes ten seconds at most and is begun as soon as it is claimed.
LEASE = timedelta(seconds=60)
AT_ONCE = 16
OF_ONE = 4
State = WebhookCall.State
# An event that only an admin's click makes happen.
TEST = "webhook.test"
SECONDS = 10.0
MAX_SAID = 300
REDIRECTED = "It redirects to another address, which is not followed: give that address instead."


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed call with all that making it needs. `attempts` counts this one, too."""

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


def is_any_due(now: datetime) -> bool:
    """Asked every few seconds, mostly in vain."""
    return callable_webhooks(now).exists()


@transaction.atomic
def claim(*, now: datetime, busy: Mapping[int, int]) -> list[Job]:
    """Calls that are ours now. `busy`: how many of each webhook are under way here."""
    jobs: list[Job] = []
    free = AT_ONCE - sum(busy.values())
    # Those that answer go first.
    for webhook in callable_webhooks(now).order_by("failures", "pk") if free else ():
        width = (1 if webhook.failures else OF_ONE) - busy.get(webhook.pk, 0)
        jobs += _claimed(webhook, min(width, free - len(jobs)), now)
    return jobs


def callable_webhooks(now: datetime) -> "QuerySet[Webhook]":
    due = _due(now).filter(webhook=OuterRef("pk"))
    return Webhook.objects.filter(Q(free_at=None) | Q(free_at__lte=now), Exists(due), active=True)


def _due(now: datetime) -> "QuerySet[WebhookCall]":
    """Also what a dead worker was sending."""
    lost = Q(state=State.SENDING, lease_until__lt=now)
    return WebhookCall.objects.filter(Q(state=State.QUEUED, due_at__lte=now) | lost)


def _claimed(webhook: Webhook, most: int, now: datetime) -> Iterator[Job]:
    if most <= 0:
        return
    rows = _due(now).filter(webhook=webhook).order_by("due_at", "pk")
    calls = list(rows.select_for_update(skip_locked=True)[:most])
    ours = lease(now, LEASE)
    WebhookCall.objects.filter(pk__in=[call.pk for call in calls]).update(
        state=State.SENDING, lease_token=ours.token, lease_until=ours.until, attempts=F("attempts") + 1
    )
    for call in calls:
        call.attempts += 1
        yield job_of(call, webhook, ours.token, now)


def job_of(call: WebhookCall, webhook: Webhook, token: UUID, now: datetime) -> Job:
    """A call that is claimed, under the token of its lease."""
    return Job(
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


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class WebhookResponse:
    """`status` is None when there was no answer; `error` is empty when the call was taken."""

    status: int | None
    error: str = ""
    wish: datetime | None = None


def post(job: Job, *, at: datetime) -> WebhookResponse:
    """What the receiver makes of it. Whatever goes wrong is an answer, too."""
    data = job.body.encode()
    try:
        signed = signed_headers(event_id=job.event_id, at=at, body=data, secrets=_keys(job))
        headers = {"Content-Type": "application/json", **signed}
        return _answer(client().push(job.url, body=data, headers=headers, timeout=SECONDS), at)
    except (FetchError, ValueError) as error:
        return WebhookResponse(None, str(error))
    except NetworkInTransaction:
        raise
    except Exception as error:
        log.exception("calling a webhook failed", extra={"call": job.pk})
        return WebhookResponse(None, f"{type(error).__name__}: {error}")


def _keys(job: Job) -> list[str]:
    """The secrets that sign. Raises ValueError when they cannot be read."""
    known = opened(job.secrets)
    names = ("secret", "previous") if job.both_sign else ("secret",)
    return [known[name] for name in names if name in known]


def _answer(fetched: Fetched, at: datetime) -> WebhookResponse:
    if 200 <= fetched.status < 300:
        return WebhookResponse(fetched.status)
    if 300 <= fetched.status < 400:
        return WebhookResponse(fetched.status, REDIRECTED)
    wish = retry_at(fetched.headers.get("retry-after", ""), at)
    return WebhookResponse(fetched.status, _said(fetched), wish)


def _said(fetched: Fetched) -> str:
    """The receiver's own words, where they are text."""
    kind = fetched.headers.get("content-type", "").lower()
    is_text = kind.startswith(("text/plain", "application/json", "application/problem+json"))
    said = shortened(one_line(fetched.body.decode("utf-8", "replace")), MAX_SAID) if is_text else ""
    return f"HTTP {fetched.status}: {said}" if said else f"HTTP {fetched.status}."
