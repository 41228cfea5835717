"""Leases on feeds and hosts: request limits hold across workers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from common.db.leases import RELEASED, lease, unleased
from common.ports.registries import own_documents
from feeds.addresses import host_of_url
from feeds.credentials import headers_for
from feeds.models import Feed, FeedDocument, Host
from feeds.models.feed import FeedQuerySet
from feeds.polling.read import Ask, OwnDocument
from feeds.rules.alerts import PROBED_EVERY

WAITING_FOR_HOST = ("unreachable", "probe")
FEED_LEASE = timedelta(minutes=2)
# Hosts that rest for longer are left to a later pass.
PATIENCE = timedelta(seconds=5)


def is_scout(feed: Feed, now: datetime) -> bool:
    """Return whether no other feed tries the host within an hour."""
    failing = Feed.objects.watched().filter(host=feed.host, failures__gt=0)
    return not failing.filter(next_poll_at__lte=now + PROBED_EVERY).exclude(pk=feed.pk).exists()


@transaction.atomic
def wake(*, hosts: Collection[str], now: datetime) -> int:
    waiting = Feed.objects.watched().filter(
        host__in=hosts, failures__gt=0, next_poll_why__in=WAITING_FOR_HOST, next_poll_at__gt=now
    )
    # Avoids deadlocks and waits.
    locked = waiting.order_by("pk").select_for_update(skip_locked=True)
    pks = list(locked.values_list("pk", flat=True))
    return waiting.filter(pk__in=pks).update(next_poll_at=now, next_poll_why="host_back") if pks else 0


def claim_feed(feeds: FeedQuerySet, now: datetime) -> Feed | None:
    with transaction.atomic():
        feed = feeds.select_for_update(of=("self",), skip_locked=True).first()
        if feed is None:
            return None
        feed.lease_token, feed.lease_until = lease(now, FEED_LEASE)
        feed.save(update_fields=["lease_token", "lease_until"])
    return feed


def claim_hosts(
    wanted: Mapping[str, Sequence[int]],
    candidates: FeedQuerySet,
    *,
    token: UUID,
    now: datetime,
    heed_rests: bool = True,
) -> dict[Host, list[Feed]]:
    """Lease free hosts with their free feeds, of which there may be none.

    `wanted`: host name → keys of feeds.
    """
    missing = set(wanted).difference(Host.objects.filter(name__in=wanted).values_list("name", flat=True))
    if missing:
        Host.objects.bulk_create([Host(name=name) for name in sorted(missing)], ignore_conflicts=True)
    rested = Q(free_at=None) | Q(free_at__lte=now + PATIENCE) if heed_rests else Q()
    with transaction.atomic():
        rows = Host.objects.filter(unleased(now), rested, name__in=list(wanted)).order_by("pk")
        hosts = list(rows.select_for_update(skip_locked=True))
        Host.objects.filter(pk__in=[host.pk for host in hosts]).update(
            lease_token=token, lease_until=now + FEED_LEASE
        )
        pks = [pk for host in hosts for pk in wanted[host.name]]
        feeds = {feed.pk: feed for feed in claim_feeds(candidates.filter(pk__in=pks), token, now)}
    return {host: [feeds[pk] for pk in wanted[host.name] if pk in feeds] for host in hosts}


@transaction.atomic
def claim_feeds(candidates: FeedQuerySet, token: UUID, now: datetime) -> list[Feed]:
    feeds = list(candidates.select_for_update(of=("self",), skip_locked=True).order_by("pk"))
    until = now + FEED_LEASE
    Feed.objects.filter(pk__in=[feed.pk for feed in feeds]).update(lease_token=token, lease_until=until)
    for feed in feeds:
        feed.lease_token, feed.lease_until = token, until
    return feeds


def renew(*, token: UUID, hosts: Iterable[str], feeds: Iterable[int], now: datetime) -> None:
    until = now + FEED_LEASE
    Host.objects.filter(name__in=list(hosts), lease_token=token).update(lease_until=until)
    Feed.objects.filter(pk__in=list(feeds), lease_token=token).update(lease_until=until)


def release_feeds(*, token: UUID, feeds: Iterable[int]) -> None:
    # Django takes a while to see that nothing is in an empty list.
    if keys := list(feeds):
        Feed.objects.filter(pk__in=keys, lease_token=token).update(**RELEASED)


def release_hosts(*, token: UUID, hosts: Iterable[str], free_at: datetime | None) -> None:
    if names := list(hosts):
        Host.objects.filter(name__in=names, lease_token=token).update(**RELEASED, free_at=free_at)


def asks(feeds: Sequence[Feed], now: datetime) -> list[Ask]:
    # The first document after a change of address is read in full.
    read_before = {feed.pk: feed for feed in feeds if feed.first_polled_at is not None}
    last = {
        row.pk: row
        for row in FeedDocument.objects.filter(feed__in=read_before).defer("body", "order", "hashes")
    }
    shared: dict[tuple[str, tuple[tuple[str, str], ...], str], dict[int, FeedDocument | None]] = {}
    for feed in feeds:
        credentials: tuple[tuple[str, str], ...] = ()
        refused = ""
        try:
            credentials = tuple(sorted(headers_for(feed).items()))
        except ValueError as error:
            refused = str(error)
        if feed.pk in last:
            last[feed.pk].feed = feed
        shared.setdefault((feed.url, credentials, refused), {})[feed.pk] = last.get(feed.pk)
    return [
        Ask(url, together, dict(credentials), refused, own_document(url, now))
        for (url, credentials, refused), together in shared.items()
    ]


def own_document(url: str, now: datetime) -> OwnDocument | None:
    """Return it without the network, where our name may lead nowhere or to a private address."""
    if not own_documents or host_of_url(url) not in (host_of_url(settings.SITE_URL), *settings.FORMER_HOSTS):
        return None
    return next(filter(None, (source(url, now) for source in own_documents)), None)
