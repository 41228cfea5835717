import logging
import secrets
from collections.abc import Mapping
from datetime import datetime, timedelta
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from common.net.addresses import may_be_called
from feeds.models import Feed, FeedDocument, HubSubscription
from feeds.parsing.discovery import links_of_header
from feeds.parsing.entry import Channel
from feeds.rules.websub import Offer, may_change, offer

log = logging.getLogger(__name__)

# A changed offer shows after a reading.
LATELY = timedelta(minutes=3)
HERE = ("localhost", "localhost.localdomain")
KNOWN_TO_HUB = (HubSubscription.State.PENDING, HubSubscription.State.ACTIVE)


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


def wanted(feed: Feed) -> Offer | None:
    fits = feed.use_hub and feed.status == Feed.Status.ACTIVE and is_reachable()
    return offered(feed) if fits else None


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
        if current.state in KNOWN_TO_HUB and not may_change(current.made_at, now):
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
    if not row.exclude(state__in=(*KNOWN_TO_HUB, HubSubscription.State.LEAVING)).delete()[0]:
        row.filter(state__in=KNOWN_TO_HUB).update(
            state=HubSubscription.State.LEAVING,
            feed=None,
            next_at=now,
            failures=0,
            last_error="",
            owed_at=None,
        )
