from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext, ngettext

from common.clock import utcnow
from common.passes import TimeBudget
from common.rates import Limit, count_within
from common.refused import Refused, TranslatedRefusal
from common.text import one_line
from feeds.adding.add import add_feed, alter_feed, feed_at
from feeds.adding.discover import Candidate, discover
from feeds.credentials import split_address
from feeds.models import Feed
from feeds.polling.audience import is_still_kept, kept_reading, told_of_all
from feeds.polling.known_items import chunks
from feeds.polling.read import Reading
from reader.channels.channels import NoSuchChannel, count_followers, drop_channel
from reader.channels.filters import mutes_in
from reader.entries.filters import ask_again, ask_filters_of, show_what_passes
from reader.entries.place import NewTimelineEntry, arrival, insert_timeline_entries, lock_placing
from reader.entries.take import backfilled, columns, newest_of
from reader.entries.visibility import hide
from reader.media.icons import want_icon
from reader.models import Channel, Entry, Follow, Reader, TimelineEntry, Unread
from reader.models.channel import LONGEST_FOLLOW_NAME
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.retention import BACKFILLED

# A poll may come between reading the document and locking the feed.
TRIES = 3
# A look makes up to a dozen requests to other servers.
LOOKS = Limit("reader-looks", 20)
# Filters judge new posts for this long; the rest follows later.
ASKED_AT_ONCE = timedelta(seconds=1)


def may_look(reader: Reader) -> bool:
    """Limit requests to other servers, and uploads."""
    return count_within((LOOKS, str(reader.pk)))


def follow_address(
    *, channel: Channel, url: str, clock: Callable[[], datetime] = utcnow
) -> tuple[Follow, bool]:
    """Follow the feed at an address, or the best of that page (network).

    Returns whether it is new, too. Raises Refused and ValidationError.
    """
    refuse_more_in(channel)
    feed = shared_feed_at(url)
    if feed is None:
        best = _best(url, clock)
        feed = shared_feed_at(best.url) or _added_as_found(best, clock)
    return follow_feed(channel=channel, feed=feed, clock=clock)


def follow_unseen(
    *,
    channel: Channel,
    url: str,
    name: str = "",
    wait: timedelta = timedelta(0),
    clock: Callable[[], datetime] = utcnow,
) -> tuple[Follow, bool]:
    """Follow exactly this address without network. A poll after `wait` shows whether it is a feed.

    Raises Refused and ValidationError.
    """
    feed = shared_feed_at(url)
    known = Follow.objects.filter(channel=channel, feed=feed).first() if feed else None
    if known is not None:
        return known, False
    refuse_more_in(channel)
    feed = feed or _added(url, "", clock(), wait)
    return follow_feed(channel=channel, feed=feed, name="" if name == feed.title else name, clock=clock)


def shared_feed_at(url: str) -> Feed | None:
    """Feeds with credentials are for admins only."""
    return None if split_address(url.strip())[1] else feed_at(url, is_open=True)


def follow_feed(
    *, channel: Channel, feed: Feed, name: str = "", clock: Callable[[], datetime] = utcnow
) -> tuple[Follow, bool]:
    """Follow a feed, and add its current posts at their dates."""
    for turn in range(TRIES):
        reading = kept_reading(feed.pk)
        if reading is not None:
            # Too slow under a lock.
            for id_ in reading.document.newest_first()[:BACKFILLED]:
                if id_ in reading.entries:
                    reading.cleaned(id_)
        followed = _follow(channel, feed.pk, name, reading, clock(), is_last=turn == TRIES - 1)
        if followed is not None:
            ask_filters_of(channel, left=TimeBudget(ASKED_AT_ONCE))
            return followed
    raise AssertionError("the last try always follows")


@transaction.atomic
def _follow(
    channel: Channel, feed_id: int, name: str, reading: Reading | None, now: datetime, *, is_last: bool
) -> tuple[Follow, bool] | None:
    """Return None if the feed was polled meanwhile."""
    lock_placing()
    now = arrival(now)
    feed = Feed.objects.select_for_update().filter(pk=feed_id).first()
    if feed is None:
        raise TranslatedRefusal(gettext("That feed was just removed. Try again."), "url")
    there = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
    if there is None:
        raise NoSuchChannel("Channel not found.", "channel")
    if reading is not None and not is_still_kept(feed, reading):
        if not is_last:
            return None
        reading = None
    follow, is_new = Follow.objects.get_or_create(
        channel=channel, feed=feed, defaults={"added_at": now, "name": name}
    )
    if is_new:
        # A feed that was being dropped is needed again.
        wanted = {"for_letters": False, "status": Feed.Status.ACTIVE} if feed.dropping else {}
        Feed.objects.filter(pk=feed.pk).update(unread_since=None, **wanted)
        count_followers([feed.pk], now=now)
        want_icon(feed, now=now)
        if reading is not None:
            _backfill(there, feed, reading, now)
    return follow, is_new


@transaction.atomic
def unfollow(*, channel: Channel, feed: Feed, now: datetime) -> bool:
    """Unfollow it, but keep its posts. Returns False if it was not followed."""
    was_followed = bool(Follow.objects.filter(channel=channel, feed=feed).delete()[0])
    if was_followed:
        count_followers([feed.pk], now=now)
    return was_followed


@transaction.atomic
def move_follow(*, follow: Follow, to: Channel, now: datetime, with_posts: bool = False) -> Follow:
    """Move a follow, `with_posts` or without. Raises Refused."""
    _refuse_notifications(to)
    if with_posts and to != follow.channel:
        lock_placing()
        _move_places(TimelineEntry.objects.filter(channel=follow.channel, feed=follow.feed_id), to)
    there = Follow.objects.filter(channel=to, feed=follow.feed_id).first()
    if there is not None and there.pk != follow.pk:
        follow.delete()
        count_followers([follow.feed_id], now=now)
        return there
    follow.channel = to
    follow.save(update_fields=["channel"])
    return follow


def change_address(*, reader: Reader, feed: Feed, url: str, clock: Callable[[], datetime] = utcnow) -> Feed:
    """Replace a feed in all channels of the reader (network), keeping old posts.

    Raises Refused and ValidationError.
    """
    new = shared_feed_at(url)
    if new is None:
        best = _best(url, clock)
        new = (
            shared_feed_at(best.url)
            or _readdressed(reader, feed, best.url, clock())
            or _added_as_found(best, clock)
        )
    if new.pk == feed.pk:
        return new
    for follow in Follow.objects.of(reader).filter(feed=feed).select_related("channel"):
        # Before old posts move: copies of them are then hidden as duplicates.
        follow_feed(channel=follow.channel, feed=new, name=follow.name, clock=clock)
        with transaction.atomic():
            lock_placing()
            pks = TimelineEntry.objects.filter(channel=follow.channel, feed=feed).order_by("pk")
            for some in chunks(list(pks.select_for_update().values_list("pk", flat=True))):
                TimelineEntry.objects.filter(pk__in=some).update(feed=new)
            unfollow(channel=follow.channel, feed=feed, now=clock())
    return new


@transaction.atomic
def _readdressed(reader: Reader, feed: Feed, url: str, now: datetime) -> Feed | None:
    feed = Feed.objects.select_for_update().get(pk=feed.pk)
    others = Follow.objects.filter(feed=feed).exclude(channel__reader=reader)
    if feed.for_letters or others.exists():
        return None
    # The old server may have said Gone.
    want_icon(feed, now=now)
    return alter_feed(feed=feed, url=url, status=Feed.Status.ACTIVE)


def rename_follow(*, follow: Follow, name: str) -> None:
    name = one_line(name)[:LONGEST_FOLLOW_NAME].strip()
    follow.name = "" if name == follow.feed.title else name
    follow.save(update_fields=["name"])


def dissolve_channel(*, channel: Channel, into: Channel, now: datetime) -> None:
    """Delete a channel, but move its feeds and posts. Raises Refused."""
    with transaction.atomic():
        for follow in channel.follows.select_related("feed").order_by("pk"):
            move_follow(follow=follow, to=into, now=now, with_posts=True)
        lock_placing()
        _move_places(TimelineEntry.objects.filter(channel=channel), into)
    drop_channel(channel=channel, now=now)


def _move_places(places: TimelineEntryQuerySet, to: Channel) -> None:
    """Drop posts that the other channel has or had."""
    there = Exists(TimelineEntry.objects.filter(channel=to, entry=OuterRef("entry")))
    unwanted = mutes_in(to)
    # Only their own channel unmutes them.
    moved = places.filter(~there).exclude(hidden=TimelineEntry.Hidden.MUTED).order_by("pk")
    for pks in chunks(list(moved.select_for_update().values_list("pk", flat=True))):
        rows = TimelineEntry.objects.filter(pk__in=pks)
        rows.update(channel=to)
        Unread.objects.filter(place__in=pks).update(channel=to)
        for key, is_block in unwanted.items():
            reason = TimelineEntry.Hidden.REMOVED if is_block else TimelineEntry.Hidden.MUTED
            hide(rows.filter(entry__author_key=key), reason)
        show_what_passes(rows.filter(hidden=TimelineEntry.Hidden.FILTERED))
    ask_again([to.pk])
    for pks in chunks(list(places.filter(there).order_by("pk").values_list("pk", flat=True))):
        Unread.objects.filter(place__in=pks).delete()
        TimelineEntry.objects.filter(pk__in=pks).delete()


def _refuse_notifications(channel: Channel) -> None:
    if channel.is_notifications:
        words = gettext("You can’t follow feeds in the notifications channel. Choose another channel.")
        raise TranslatedRefusal(words, "channel")


def refuse_more_in(channel: Channel) -> None:
    _refuse_notifications(channel)
    most = channel.reader.max_feeds or settings.READER_MAX_FEEDS
    if Follow.objects.of(channel.reader).count() >= most:
        words = ngettext(
            "You follow %(most)s feed, which is the maximum. Unfollow it first.",
            "You follow %(most)s feeds, which is the maximum. Unfollow one first.",
            most,
        )
        raise TranslatedRefusal(words % {"most": f"{most:,}"}, "url")


def _best(url: str, clock: Callable[[], datetime]) -> Candidate:
    discovery = discover(url, now=clock())
    best = discovery.only or discovery.best
    if best is None:
        raise Refused(discovery.problem, "url")
    return best


def _added_as_found(best: Candidate, clock: Callable[[], datetime]) -> Feed:
    return _added(best.url, best.looked.parsed.title if best.looked.parsed else "", clock(), timedelta(0))


def _added(url: str, title: str, now: datetime, wait: timedelta) -> Feed:
    """Raises ValidationError."""
    feed = add_feed(url=url, now=now, for_letters=False, pace=Feed.Pace.ADAPTIVE, title=title)
    # Pruning drops it if nobody follows it.
    Feed.objects.filter(pk=feed.pk, read_by=0).update(unread_since=now, next_poll_at=now + wait)
    return feed


def _backfill(channel: Channel, feed: Feed, reading: Reading, now: datetime) -> None:
    told = told_of_all(feed, reading, now)
    ids = newest_of(told)
    places = backfilled(told, ids)
    items = {told.inserted[id_]: id_ for id_ in ids}
    known = Entry.objects.filter(item__in=items).order_by("pk").select_for_update(of=("self",))
    entries = {items[entry.item_id]: entry for entry in known.defer("text") if entry.item_id}
    for entry_id in ids:
        entry = entries.get(entry_id)
        if entry is None:
            entries[entry_id] = Entry.objects.create(
                item_id=told.inserted[entry_id],
                feed=feed,
                seen_at=now,
                placed_at=now,
                **columns(feed, reading, entry_id, now),
            )
        elif entry.jf2 is None:
            # Forgotten, but new to this channel.
            Entry.objects.filter(pk=entry.pk).update(**columns(feed, reading, entry_id, entry.seen_at))
    in_order = sorted(ids, key=lambda id_: (places[id_][0], ids.index(id_)))
    rows = [NewTimelineEntry(entries[id_], channel, *places[id_]) for id_ in in_order]
    insert_timeline_entries(rows, now=now)
    ask_again([channel.pk])
