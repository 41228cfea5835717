"""Claiming: feeds under a lease, and their hosts, so that limits on requests hold across workers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Q

from common.db.leases import RELEASED, lease
from feeds.credentials import headers_for
from feeds.models import Feed, FeedDocument, Host
from feeds.models.feed import FeedQuerySet
from feeds.parsing.entry import Channel
from feeds.polling.kept_document import HOLDERS
from feeds.polling.read import Ask, Kept

LEASE = timedelta(minutes=2)
# A host whose gap ends within this is waited for; one that rests for longer is left to a later pass.
PATIENCE = timedelta(seconds=5)
Credentials = tuple[tuple[str, str], ...] | str


@dataclass(frozen=True, slots=True)
class ClaimedHost:
    """A host that is ours, when it may be asked first, and those of its feeds that are ours now."""

    name: str
    free_at: datetime | None
    feeds: tuple[Feed, ...]


def claim_feed(feeds: FeedQuerySet, now: datetime) -> Feed | None:
    """The first of these feeds that no other worker holds, under a lease of its own."""
    with transaction.atomic():
        feed = feeds.select_for_update(of=("self",), skip_locked=True).first()
        if feed is None:
            return None
        ours = lease(now, LEASE)
        feed.lease_token, feed.lease_until = ours.token, ours.until
        feed.save(update_fields=["lease_token", "lease_until"])
    return feed


def claim_hosts(
    wanted: Mapping[str, Sequence[int]],
    candidates: FeedQuerySet,
    *,
    token: UUID,
    now: datetime,
    heed_rests: bool = True,
) -> list[ClaimedHost]:
    """Those of the hosts that nobody else holds, each with those of its feeds that are still to be had.

    `wanted` has the keys of feeds under each host's name. A host without feeds comes back empty, and ours.
    """
    _make_sure_of(wanted)
    free = Q(lease_token=None) | Q(lease_until__lt=now)
    rested = Q(free_at=None) | Q(free_at__lte=now + PATIENCE) if heed_rests else Q()
    with transaction.atomic():
        found = Host.objects.filter(free, rested, name__in=list(wanted)).order_by("pk")
        hosts = list(found.select_for_update(skip_locked=True))
        Host.objects.filter(pk__in=[host.pk for host in hosts]).update(
            lease_token=token, lease_until=now + LEASE
        )
        pks = [pk for host in hosts for pk in wanted[host.name]]
        feeds = {feed.pk: feed for feed in claim_feeds(candidates.filter(pk__in=pks), token, now)}
    return [
        ClaimedHost(host.name, host.free_at, tuple(feeds[pk] for pk in wanted[host.name] if pk in feeds))
        for host in hosts
    ]


def _make_sure_of(names: Iterable[str]) -> None:
    """The hosts' rows, made when a host is read for the first time."""
    wanted = set(names)
    missing = wanted - set(Host.objects.filter(name__in=wanted).values_list("name", flat=True))
    if missing:
        Host.objects.bulk_create([Host(name=name) for name in sorted(missing)], ignore_conflicts=True)


@transaction.atomic
def claim_feeds(candidates: FeedQuerySet, token: UUID, now: datetime) -> list[Feed]:
    """Those of the candidates that no other worker holds, under one lease."""
    feeds = list(candidates.select_for_update(of=("self",), skip_locked=True).order_by("pk"))
    Feed.objects.filter(pk__in=[feed.pk for feed in feeds]).update(lease_token=token, lease_until=now + LEASE)
    for feed in feeds:
        feed.lease_token, feed.lease_until = token, now + LEASE
    return feeds


def renew(*, token: UUID, hosts: Iterable[str], feeds: Iterable[int], now: datetime) -> None:
    """Makes the leases of a long pass last on."""
    until = now + LEASE
    Host.objects.filter(name__in=list(hosts), lease_token=token).update(lease_until=until)
    Feed.objects.filter(pk__in=list(feeds), lease_token=token).update(lease_until=until)


def release_feeds(*, token: UUID, feeds: Iterable[int]) -> None:
    """Gives back feeds that were claimed and not asked."""
    keys = list(feeds)
    if keys:
        Feed.objects.filter(pk__in=keys, lease_token=token).update(**RELEASED)


def release_hosts(*, token: UUID, hosts: Iterable[str], free_at: datetime | None) -> None:
    """Gives hosts back; none of them is asked before `free_at`."""
    names = list(hosts)
    if names:
        Host.objects.filter(name__in=names, lease_token=token).update(**RELEASED, free_at=free_at)


def asks(feeds: Sequence[Feed]) -> list[Ask]:
    """One ask for the feeds that share address and credentials, in the order of the feeds."""
    kept = _kept(feeds)
    shared: dict[tuple[str, Credentials], dict[int, Kept | None]] = {}
    for feed in feeds:
        shared.setdefault((feed.url, _credentials(feed)), {})[feed.pk] = kept.get(feed.pk)
    return [
        Ask(url, together, {}, credentials)
        if isinstance(credentials, str)
        else Ask(url, together, dict(credentials))
        for (url, credentials), together in shared.items()
    ]


def _credentials(feed: Feed) -> Credentials:
    """The headers for the feed's host, or a sentence that says why they cannot be had."""
    try:
        return tuple(sorted(headers_for(feed).items()))
    except ValueError as error:
        return str(error)


def _kept(feeds: Sequence[Feed]) -> dict[int, Kept]:
    """What is kept of each feed's last document. After a change of address the first one is read in full."""
    pks = [feed.pk for feed in feeds if feed.first_polled_at is not None]
    rows = FeedDocument.objects.filter(feed__in=pks).values_list(
        "feed_id", "sha256", "headers", "channel", "sent_at", "fetched_at"
    )
    return {
        pk: Kept(
            sha256, headers, Channel.from_json(channel), sent_at or fetched_at, channel.get(HOLDERS) or {}
        )
        for pk, sha256, headers, channel, sent_at, fetched_at in rows
    }
