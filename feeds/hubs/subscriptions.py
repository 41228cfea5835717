"""Subscriptions at hubs (W3C WebSub), and their pushes.

Workers read pushes, each once and in order, as strangers decide how much work they are. For one that cannot
be stored, a later reading is owed.
"""

import hashlib
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.urls import reverse

from common.clock import utcnow
from common.net.addresses import may_be_called
from common.net.client import FetchError, client
from common.passes import TimeBudget
from common.secrets import opened
from common.text import one_line, shortened
from common.transactions import NetworkInTransaction
from feeds.models import Feed, FeedDocument, HubSubscription, Push
from feeds.parsing.discovery import links_of_header
from feeds.parsing.entry import Channel
from feeds.polling.poll import push_feed, request_poll
from feeds.rules.pace import retry_at
from feeds.rules.websub import (
    TAKES_PUSHES,
    USUAL_LEASE,
    Offer,
    ask_again_at,
    is_signed,
    may_change,
    next_act,
    offer,
)

log = logging.getLogger(__name__)

# A changed offer shows after a reading.
LATELY = timedelta(minutes=3)
HERE = ("localhost", "localhost.localdomain")
# A worker that takes longer is dead.
READER_LOST_AFTER = timedelta(minutes=5)
PUSHES_A_PASS = 500
CLAIM = timedelta(minutes=5)
HUB_TIMEOUT = 10.0
MAX_ANSWER = 1_000_000
MAX_WORDS_OF_HUB = 300
MAX_ERROR = 1_000
REQUESTS_A_PASS = 500
# A signature has no date, so an eavesdropper could repeat a push.
REMEMBERED = 50


def is_reachable() -> bool:
    if settings.ALLOW_PRIVATE_NETWORKS:
        return True
    host = (urlsplit(settings.SITE_URL).hostname or "").rstrip(".").lower()
    try:
        return may_be_called(ip_address(host), ())
    except ValueError:
        return bool(host) and host not in HERE and not host.endswith(".localhost")


def offered(feed: Feed) -> Offer | None:
    document = FeedDocument.objects.filter(feed=feed).only("channel", "headers").first()
    return offer_of(document.channel, document.headers, feed.url) if document else None


def offer_of(channel: dict[str, Any], headers: Mapping[str, str], url: str) -> Offer | None:
    """`url`: the feed's address, for documents without their own."""
    declared = Channel.from_json(channel)
    links = links_of_header(headers.get("link", ""))
    return offer(links, declared.hubs, declared.topic, address=headers.get("url") or url)


def drop_unwanted(now: datetime) -> None:
    unwanted = Q(feed=None) | Q(feed__use_hub=False) | ~Q(feed__status=Feed.Status.ACTIVE)
    rows = HubSubscription.objects.exclude(state=HubSubscription.State.LEAVING).filter(unwanted)
    for pk in list(rows.values_list("pk", flat=True)):
        _leave(pk, now)


def follow_offers(now: datetime) -> None:
    if not is_reachable():
        return
    recent = FeedDocument.objects.filter(
        feed__last_polled_at__gte=now - LATELY, feed__use_hub=True, feed__status=Feed.Status.ACTIVE
    ).order_by()
    there = "feed__hub_subscription__"
    for pk, channel, headers, url, hub, topic in recent.values_list(
        "pk", "channel", "headers", "feed__url", f"{there}hub", f"{there}topic"
    ).iterator():
        try:
            offer = offer_of(channel, headers, url)
            if (offer.hub, offer.topic) != (hub, topic) if offer else hub is not None:
                change(feed_id=pk, offer=offer, now=now)
        except Exception:
            log.exception("what a feed offers could not be followed", extra={"feed": pk})


@transaction.atomic
def change(*, feed_id: int, offer: Offer | None, now: datetime) -> None:
    """Leave the current subscription, unless it is too new, and create one for the offer."""
    if not Feed.objects.select_for_update().filter(pk=feed_id).exists():
        return
    current = HubSubscription.objects.filter(feed_id=feed_id).first()
    if current is not None:
        if current.state in TAKES_PUSHES and not may_change(current.made_at, now):
            return
        _leave(current.pk, now)
    if offer is not None:
        secret: Any = fresh_secret()
        HubSubscription.objects.create(
            feed_id=feed_id,
            hub=offer.hub,
            topic=offer.topic,
            made_at=now,
            next_at=now,
            token=secrets.token_urlsafe(32),
            secret=secret,
        )


def fresh_secret() -> dict[str, str]:
    """For X-Hub-Signature: less than 200 bytes (WebSub §5.1)."""
    return {"secret": secrets.token_urlsafe(48)}


def leave_hub(*, feed: Feed, now: datetime) -> None:
    """Leave after a change of address: later pushes are not this feed's."""
    for pk in list(HubSubscription.objects.filter(feed=feed).values_list("pk", flat=True)):
        _leave(pk, now)


def _leave(pk: int, now: datetime) -> None:
    """Detach the row, which remains until unsubscribed, if the hub knows it."""
    row = HubSubscription.objects.filter(pk=pk)
    if not row.exclude(state__in=(*TAKES_PUSHES, HubSubscription.State.LEAVING)).delete()[0]:
        row.filter(state__in=TAKES_PUSHES).update(
            state=HubSubscription.State.LEAVING,
            feed=None,
            next_at=now,
            failures=0,
            last_error="",
            owed_at=None,
        )


def unread(now: datetime) -> QuerySet[Push]:
    return Push.objects.filter(Q(began_at=None) | Q(began_at__lt=now - READER_LOST_AFTER))


def read_pushes(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Return how many were read.

    One that cannot be stored has its feed read instead.
    """
    left = TimeBudget(budget)
    done = 0
    waiting = unread(clock()).order_by("arrived_at", "pk").values_list("pk", flat=True)
    for pk in list(waiting[:PUSHES_A_PASS]):
        if left.is_spent:
            break
        now = clock()
        with transaction.atomic():
            rows = unread(now).filter(pk=pk).select_for_update(skip_locked=True, of=("self",))
            push = rows.select_related("subscription__feed").first()
            if push is None:
                continue
            was_begun = push.began_at is not None
            Push.objects.filter(pk=pk).update(began_at=now)
        subscription = push.subscription
        feed = subscription.feed
        # A full reading since then has it, or something newer.
        if (
            feed is not None
            and not (feed.fetched_through and feed.fetched_through >= push.arrived_at)
            and (was_begun or not _store(feed.pk, push, now))
        ):
            owe(subscription_id=subscription.pk, feed_id=feed.pk, moment=push.arrived_at)
        # A newer push may have replaced it.
        Push.objects.filter(pk=pk, arrived_at=push.arrived_at).delete()
        done += 1
    return done


def _store(feed_id: int, push: Push, now: datetime) -> bool:
    headers = {"content-type": push.content_type}
    try:
        result = push_feed(
            feed_id=feed_id, body=bytes(push.body), headers=headers, moment=push.arrived_at, now=now
        )
    except Exception:
        log.exception("a push failed", extra={"feed": feed_id})
        return False
    return result is not None and result.ok


@dataclass(frozen=True, slots=True)
class Outcome:
    """`error` is empty if the hub accepted."""

    error: str = ""
    retry_after: str = ""
    answered: bool = True


def ask_due(*, clock: Callable[[], datetime], budget: timedelta | None = None) -> int:
    """Send due requests, longest due first. Returns how many.

    A hub that does not answer gets no more in this pass.
    """
    left = TimeBudget(budget)
    asked, silent = 0, set[str]()
    due = HubSubscription.objects.filter(next_at__lte=clock()).order_by("next_at", "pk").defer("seen")
    for row in list(due[:REQUESTS_A_PASS]):
        if left.is_spent:
            break
        if _server(row) in silent:
            continue
        try:
            outcome = send_due_request(row, clock())
        except NetworkInTransaction:
            raise
        except Exception:
            # Claimed, so it is retried later.
            log.exception("asking a hub failed", extra={"subscription": row.pk})
            continue
        if outcome is not None:
            asked += 1
            silent |= set() if outcome.answered else {_server(row)}
    return asked


def _server(row: HubSubscription) -> str:
    return urlsplit(row.hub).netloc


def send_due_request(row: HubSubscription, now: datetime) -> Outcome | None:
    """Send one request, or delete the row after enough tries. Returns None without a request."""
    act = next_act(row.state, row.failures)
    if act == "forget":
        _as_it_was(row).delete()
        return None
    # Written before the request, as some hubs verify before they answer.
    leaving = row.state == HubSubscription.State.LEAVING
    changes: dict[str, Any] = {
        "state": HubSubscription.State.LEAVING if leaving else HubSubscription.State.PENDING,
        "failures": row.failures + 1,
        "next_at": now + CLAIM,
    }
    if not leaving and not secret_of(row):
        changes["secret"] = fresh_secret()
    if not _as_it_was(row).update(**changes):
        return None
    for name, value in changes.items():
        setattr(row, name, value)
    outcome = _post(row, act)
    again = ask_again_at(now, row.failures, taken=not outcome.error)
    again = max(again, retry_at(outcome.retry_after, now) or again)
    # The hub may have verified meanwhile.
    _as_it_was(row).update(next_at=again, last_error=shortened(one_line(outcome.error), MAX_ERROR))
    return outcome


def _as_it_was(row: HubSubscription) -> "QuerySet[HubSubscription]":
    return HubSubscription.objects.filter(pk=row.pk, state=row.state, next_at=row.next_at)


def secret_of(row: HubSubscription) -> str:
    """Return "" if it is unreadable, as SECRET_KEY has changed."""
    try:
        return opened(row.secret).get("secret", "")
    except ValueError:
        return ""


def _post(row: HubSubscription, act: str) -> Outcome:
    callback = f"{settings.SITE_URL}{reverse('feeds:websub', args=[row.token])}"
    form = {"hub.mode": act, "hub.topic": row.topic, "hub.callback": callback}
    if act == "subscribe":
        form["hub.secret"] = secret_of(row)
        form["hub.lease_seconds"] = str(int(USUAL_LEASE.total_seconds()))
    try:
        answer = client().post(row.hub, data=form, timeout=HUB_TIMEOUT, max_bytes=MAX_ANSWER)
    except FetchError as error:
        return Outcome(str(error), answered=False)
    if 200 <= answer.status < 300:
        return Outcome()
    # WebSub §5.1: "a description of the error".
    is_text = answer.headers.get("content-type", "").lower().startswith("text/plain")
    description = shortened(
        one_line(answer.body[: 4 * MAX_WORDS_OF_HUB].decode("utf-8", "replace")), MAX_WORDS_OF_HUB
    )
    words = f": {description}" if is_text and description else "."
    return Outcome(f"The hub answered HTTP {answer.status}{words}", answer.headers.get("retry-after", ""))


def hear(
    *, subscription: HubSubscription, signature: str, body: bytes, content_type: str, moment: datetime
) -> bool:
    """Receive a push. `moment` is before its body was read. Returns whether it is new.

    Wrong signatures are counted and ignored (WebSub §7.1), and repeated pushes ignored.
    """
    if not is_signed(signature, body, secret_of(subscription)):
        HubSubscription.objects.filter(pk=subscription.pk).update(refused=F("refused") + 1)
        return False
    return note_push(subscription=subscription, body=body, content_type=content_type, moment=moment)


@transaction.atomic
def note_push(*, subscription: HubSubscription, body: bytes, content_type: str, moment: datetime) -> bool:
    """Store a push, the newest of its subscription. Returns whether it is new."""
    digest = hashlib.sha256(body).hexdigest()[:32]
    row = HubSubscription.objects.select_for_update().filter(pk=subscription.pk).first()
    if row is None or row.feed_id is None or digest in row.seen:
        return False
    row.last_push_at, row.missed = moment, 0
    row.seen = [digest, *row.seen][:REMEMBERED]
    row.save(update_fields=["last_push_at", "missed", "seen"])
    is_hint = not body.strip()
    if is_hint or Push.objects.filter(pk=row.pk).exists():
        owe(subscription_id=row.pk, feed_id=row.feed_id, moment=moment)
    if not is_hint:
        kept = {"body": body, "content_type": content_type, "arrived_at": moment, "began_at": None}
        Push.objects.update_or_create(subscription=row, defaults=kept)
    return True


def owe(*, subscription_id: int, feed_id: int, moment: datetime) -> None:
    """Have the feed read in place of a push at `moment`."""
    earlier = Q(owed_at=None) | Q(owed_at__lt=moment)
    HubSubscription.objects.filter(earlier, pk=subscription_id).update(owed_at=moment)
    request_poll(feed_ids=[feed_id], now=moment)


def retry_missed_pushes(now: datetime) -> None:
    """Poll feeds that owe a push, until a reading that began after the push succeeded."""
    owed = HubSubscription.objects.filter(owed_at__isnull=False, feed__isnull=False)
    settled = list(owed.filter(feed__fetched_through__gte=F("owed_at")).values_list("pk", "owed_at"))
    for pk, owed_at in settled:
        HubSubscription.objects.filter(pk=pk, owed_at=owed_at).update(owed_at=None)
    settled_pks = {pk for pk, _ in settled}
    waiting = [
        feed_id for pk, feed_id in owed.values_list("pk", "feed_id") if pk not in settled_pks and feed_id
    ]
    if waiting:
        request_poll(feed_ids=waiting, now=now)


def keep_hubs(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    now = clock()
    drop_unwanted(now)
    follow_offers(now)
    retry_missed_pushes(now)
    return ask_due(clock=clock, budget=budget) if is_reachable() else 0


def ask_again(*, feeds: list[int], now: datetime) -> int:
    rows = HubSubscription.objects.filter(feed__in=feeds, feed__status=Feed.Status.ACTIVE)
    return rows.update(next_at=now, failures=0)
