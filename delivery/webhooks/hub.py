"""Our hub (W3C WebSub): programs ask for newsletters' feeds, agree, and get each issue pushed.

Rows are the queue. A row that changed while it was worked on is due again.
"""

import logging
import secrets
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from hmac import compare_digest
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet

from common.clock import utcnow
from common.net.client import FetchError, client
from common.passes import TimeBudget
from common.refused import Refused
from common.secrets import opened
from common.transactions import NetworkInTransaction
from delivery.models import HubSubscriber
from delivery.rules.hub import SUBSCRIBE, UNSUBSCRIBE, HubRequest, next_push, push_headers, verification_url
from feeds.addresses import host_of_url, is_address
from subscriptions.links import page_url
from subscriptions.models import Subscribable

log = logging.getLogger(__name__)
MOST_OF_A_TOPIC, MOST_OF_A_HOST, MOST_UNVERIFIED_OF_A_HOST = 2_000, 1_000, 20
ROWS_AT_ONCE, CALLS_AT_ONCE, CALL_SECONDS, MOST_ANSWERED = 40, 8, 5.0, 4_000
CLAIMED_FOR = timedelta(minutes=5)
HUB_BUDGET = timedelta(seconds=5)
FEED_TYPE = "application/rss+xml; charset=utf-8"
GONE = 410
Document = Callable[[Subscribable], bytes]


def hub_url() -> str:
    return f"{settings.SITE_URL}/hub/"


def topic_of(newsletter: Subscribable) -> str:
    return f"{page_url(newsletter)}feed.xml"


@transaction.atomic
def ask_hub(*, request: HubRequest, newsletter: Subscribable, now: datetime) -> None:
    """Note a request, to be verified by a worker. Raises Refused."""
    host, rows = host_of_url(request.callback), HubSubscriber.objects.filter(subscribable=newsletter)
    if not is_address(request.callback):
        raise Refused("hub.callback must be an address of the web.")
    rows.filter(expires_at__lt=now, asks="").delete()
    if not rows.filter(callback=request.callback).exists():
        if request.mode == UNSUBSCRIBE:
            return
        of_host = HubSubscriber.objects.filter(host=host)
        if (
            rows.count() >= MOST_OF_A_TOPIC
            or of_host.count() >= MOST_OF_A_HOST
            or of_host.exclude(asks="").count() >= MOST_UNVERIFIED_OF_A_HOST
        ):
            raise Refused("There are too many subscriptions. Try again later.")
    asked = {"secret": request.secret, "seconds": str(int(request.lease.total_seconds()))}
    changes = {"host": host, "asks": request.mode, "asked": asked, "due_at": now}
    HubSubscriber.objects.update_or_create(
        subscribable=newsletter, callback=request.callback, defaults=changes
    )


def hub_due(now: datetime) -> "QuerySet[HubSubscriber]":
    rows = HubSubscriber.objects.filter(~Q(asks="") | Q(expires_at__gt=now), due_at__lte=now)
    return rows.exclude(subscribable__visibility=Subscribable.Visibility.PRIVATE)


@dataclass(frozen=True, slots=True)
class HubCall:
    """A claimed row, and the feed for it unless it is to be verified. `secrets` are the new or the agreed."""

    row: HubSubscriber
    topic: str
    secrets: dict[str, str]
    body: bytes = b""


def serve_hub(
    *, document: Document, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None
) -> int:
    """Verify requests and push feeds that are due. Returns the number of calls."""
    left, made = TimeBudget(budget), 0
    if not hub_due(clock()).exists():
        return 0
    with ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="hub") as pool:
        while not left.is_spent and (calls := _claimed(document, clock())):
            for call, status in zip(calls, pool.map(_made, calls), strict=True):
                _record(call, status, clock())
            made += len(calls)
    return made


def _claimed(document: Document, now: datetime) -> list[HubCall]:
    calls, bodies = [], dict[int, bytes]()
    due = hub_due(now).select_related("subscribable").order_by("due_at", "pk")
    for row in list(due[:ROWS_AT_ONCE]):
        if not _unchanged(row).update(due_at=now + CLAIMED_FOR):
            continue
        row.due_at, newsletter = now + CLAIMED_FOR, row.subscribable
        if not row.asks and newsletter.pk not in bodies:
            bodies[newsletter.pk] = document(newsletter)
        body = b"" if row.asks else bodies[newsletter.pk]
        try:
            known = opened(row.asked if row.asks else row.secrets)
        except ValueError:
            # SECRET_KEY changed. Without a signature it would not be believed.
            _unchanged(row).delete()
            continue
        calls.append(HubCall(row, topic_of(newsletter), known, body))
    return calls


def _unchanged(row: HubSubscriber) -> "QuerySet[HubSubscriber]":
    return HubSubscriber.objects.filter(pk=row.pk, due_at=row.due_at, asks=row.asks)


def _made(call: HubCall) -> int:
    """Call the callback (network). Return its status, 200 if it agrees, 0 without an answer."""
    row, callback = call.row, call.row.callback
    try:
        if not row.asks:
            secret = call.secrets.get("secret", "")
            headers = push_headers(hub=hub_url(), topic=call.topic, secret=secret, body=call.body)
            headers["Content-Type"] = FEED_TYPE
            return client().push(callback, body=call.body, headers=headers, timeout=CALL_SECONDS).status
        challenge = secrets.token_urlsafe(32)
        parameters = {"mode": row.asks, "topic": call.topic, "challenge": challenge}
        if row.asks == SUBSCRIBE:
            parameters["lease_seconds"] = call.secrets["seconds"]
        url = verification_url(callback, parameters)
        answer = client().get(url, timeout=CALL_SECONDS, max_bytes=MOST_ANSWERED)
        agrees = 200 <= answer.status < 300 and compare_digest(answer.body, challenge.encode())
        return 200 if agrees else 404
    except FetchError as error:
        log.info("a subscriber of the hub was not reached: %s", error)
        return 0
    except NetworkInTransaction:
        raise
    except Exception:
        log.exception("calling a subscriber of the hub failed", extra={"subscriber": row.pk})
        return 0


def _record(call: HubCall, status: int, now: datetime) -> None:
    row, is_good = call.row, 200 <= status < 300
    changes: dict[str, Any] = {"asks": "", "asked": {}, "due_at": now if row.owes else None}
    if row.asks:
        if row.asks == UNSUBSCRIBE if is_good else row.expires_at is None:
            _unchanged(row).delete()
            return
        if is_good and row.asks == SUBSCRIBE:
            seconds = int(call.secrets["seconds"])
            changes |= {"secrets": call.secrets, "expires_at": now + timedelta(seconds=seconds)}
    elif status == GONE:
        _unchanged(row).delete()
        return
    else:
        failures = 0 if is_good else row.failures + 1
        again = None if is_good else next_push(failures, now)
        changes |= {"owes": again is not None, "failures": failures, "due_at": again}
    _unchanged(row).update(**changes)
