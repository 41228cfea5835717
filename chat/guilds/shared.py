"""One row per address, with the combined interval of its servers."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from chat.models import BotFeed, BotSettings, GuildFeed
from chat.rules.parse import USUAL, Interval, shared_interval
from feeds.adding.add import add_feed, alter_feed
from feeds.addresses import host_of_url, same_address
from feeds.models import Feed
from subscriptions.collections.assign import drop_feed
from subscriptions.models import Subscribable

# Two-step finality would take half an hour.
TIMING: Mapping[str, Any] = {
    "min_delay_minutes": 5,
    "await_stabilization_minutes": 5,
    "max_delay_minutes": 30,
    "recheck_every_minutes": USUAL.shortest,
    "ceiling_minutes": USUAL.longest,
    "pace": Feed.Pace.ADAPTIVE,
}


def locked_settings() -> BotSettings:
    """Return the settings, locked: feeds are added one at a time, so none is read twice."""
    BotSettings.objects.get_or_create(pk=1)
    return BotSettings.objects.select_for_update(no_key=True).get(pk=1)


def feed_at(url: str, title: str, now: datetime) -> tuple[Feed, bool]:
    """Return whether it is new."""
    if there := shared_feed(url):
        return there, False
    feed = add_feed(url=url, now=now, title=title, **TIMING)
    BotFeed.objects.create(feed=feed)
    return feed, True


def shared_feed(url: str) -> Feed | None:
    """An operator's feed needs permission, and no credentials."""
    usable = Q(is_operators=False) | Q(feed__credentials="")
    rows = BotFeed.objects.filter(
        usable, unused_since=None, feed__host=host_of_url(url), feed__dropping=False
    )
    wanted = same_address(url)
    for row in rows.select_related("feed").order_by("pk"):
        if same_address(row.feed.url) == wanted:
            return row.feed
    return None


@contextmanager
def following_interval(*feeds: Feed) -> Iterator[None]:
    """Update the intervals that change within the block.

    Otherwise an operator's manual setting remains. The caller's transaction holds the settings' lock.
    """
    before = [_interval_of(feed) for feed in feeds]
    yield
    for feed, was in zip(feeds, before, strict=True):
        wanted = _interval_of(feed)
        if wanted != was and BotFeed.objects.filter(feed=feed, is_operators=False).exists():
            alter_feed(feed=feed, recheck_every_minutes=wanted.shortest, ceiling_minutes=wanted.longest)


def _interval_of(feed: Feed) -> Interval:
    rows = GuildFeed.objects.present().filter(feed=feed)
    return shared_interval(list(rows.values_list("every_minutes", flat=True)))


def leave_feed(feed: Feed, *, now: datetime) -> None:
    """Stop reading it, unless others want it."""
    shared = BotFeed.objects.select_for_update(no_key=True).filter(feed=feed, is_operators=False).first()
    if shared is None or GuildFeed.objects.present().filter(feed=feed).exists():
        return
    # A reader who follows it waits for our lock, or is counted.
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    if operators_newsletters(feed).exists():
        # Now an operator's, with its settings unchanged.
        shared.delete()
        return
    if not feed.read_by:
        alter_feed(feed=feed, status=Feed.Status.STOPPED)
    BotFeed.objects.filter(pk=shared.pk, unused_since=None).update(unused_since=now)


def operators_newsletters(feed: Feed) -> "QuerySet[Subscribable]":
    """Exclude servers' bridges."""
    return feed.subscribables.filter(guild_feed=None)


def wanted_by_others() -> "QuerySet[Feed]":
    newsletters = Subscribable.objects.filter(feeds=OuterRef("pk"), guild_feed=None)
    return Feed.objects.filter(Q(read_by__gt=0) | Exists(newsletters))


def give_over(*, now: datetime) -> int:
    """Give unused feeds to the operator, if others want them. They continue to be read."""
    left = BotFeed.objects.filter(unused_since__isnull=False, feed__in=wanted_by_others())
    done = 0
    for row in left.select_related("feed").order_by("pk"):
        with transaction.atomic():
            locked_settings()
            if not operators_newsletters(row.feed).exists():
                # For readers it needs no letters.
                drop_feed(feed=row.feed, force=True, now=now)
            Feed.objects.filter(pk=row.feed_id, status=Feed.Status.STOPPED).update(status=Feed.Status.ACTIVE)
            BotFeed.objects.filter(pk=row.pk).delete()
            done += 1
    return done


def drop_unused(*, before: datetime, now: datetime) -> int:
    """Drop feeds unused since then that nobody wants."""
    done = 0
    for row in BotFeed.objects.filter(unused_since__lt=before).select_related("feed").order_by("pk")[:200]:
        if not wanted_by_others().filter(pk=row.feed_id).exists():
            drop_feed(feed=row.feed, force=True, now=now)
            done += 1
    return done
