"""Following feeds. A feed is read once for all who follow it, and for letters."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef

from common.clock import utcnow
from common.refused import Refused
from feeds.adding.add import add_feed, feed_at
from feeds.adding.discover import discover
from feeds.credentials import split_address
from feeds.models import Feed
from feeds.polling.audience import is_still_kept, kept_reading, told_of_all
from feeds.polling.known_items import chunks
from feeds.polling.read import Reading
from reader.channels.channels import NoSuchChannel, drop_channel
from reader.channels.followers import count_followers
from reader.channels.mutes import mutes_in
from reader.entries.place import PlaceIn, channels_with_a_copy, insert_places, place_in_turn
from reader.entries.take import backfilled, columns, newest_of
from reader.entries.visibility import hide
from reader.models import Channel, Entry, Follow, Place, Reader, Unread
from reader.models.place import PlaceQuerySet
from reader.rules.retention import BACKFILLED

# A feed may be read anew between our look at its document and our locking it.
TRIES = 3


@dataclass(frozen=True, slots=True)
class Followed:
    """`is_new`: it was not in the channel before."""

    follow: Follow
    is_new: bool


def follow_address(*, channel: Channel, url: str, clock: Callable[[], datetime] = utcnow) -> Followed:
    """Follows the feed at an address, or the best feed of the page there. Asks the network if it must.

    Raises Refused and ValidationError.
    """
    if channel.is_notifications:
        raise Refused("Nothing is followed in the notifications. Choose another channel.", "channel")
    _refuse_too_many(channel.reader)
    feed = shared_feed_at(url) or _found(url, clock)
    return follow_feed(channel=channel, feed=feed, clock=clock)


def shared_feed_at(url: str) -> Feed | None:
    """A feed that is watched at this address. One with credentials is the admin's alone."""
    feed = None if split_address(url.strip())[1] else feed_at(url)
    return feed if feed and not feed.credentials else None


def follow_feed(*, channel: Channel, feed: Feed, clock: Callable[[], datetime] = utcnow) -> Followed:
    """Follows a feed that is watched. What it holds is put into the channel at its dates."""
    for turn in range(TRIES):
        reading = kept_reading(feed.pk)
        if reading is not None:
            # It takes a while, and the lock below should not.
            for id_ in reading.document.newest_first()[:BACKFILLED]:
                if id_ in reading.entries:
                    reading.cleaned(id_)
        followed = _follow(channel, feed.pk, reading, clock(), is_last=turn == TRIES - 1)
        if followed is not None:
            return followed
    raise AssertionError("the last try always follows")


@transaction.atomic
def _follow(
    channel: Channel, feed_id: int, reading: Reading | None, now: datetime, *, is_last: bool
) -> Followed | None:
    """None: the feed was read anew meanwhile."""
    place_in_turn()
    feed = Feed.objects.select_for_update().filter(pk=feed_id).first()
    if feed is None:
        raise Refused("That feed was removed this very moment. Try it once more.", "url")
    if not Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).exists():
        raise NoSuchChannel("There is no such channel.", "channel")
    if reading is not None and not is_still_kept(feed, reading):
        if not is_last:
            return None
        reading = None
    follow, is_new = Follow.objects.get_or_create(channel=channel, feed=feed, defaults={"added_at": now})
    if is_new:
        # One that was being dropped is wanted again, for its posts alone.
        wanted = {"for_letters": False, "status": Feed.Status.ACTIVE} if feed.dropping else {}
        Feed.objects.filter(pk=feed.pk).update(unread_since=None, **wanted)
        count_followers([feed.pk], now=now)
        if reading is not None:
            _backfill(channel, feed, reading, now)
    return Followed(follow, is_new)


def unfollow(*, channel: Channel, feed: Feed, now: datetime) -> bool:
    """Follows the feed no longer in this channel; what stands there stays. False: it was not followed."""
    with transaction.atomic():
        rows = Follow.objects.filter(channel=channel, feed=feed)
        if not rows.delete()[0]:
            return False
        count_followers([feed.pk], now=now)
    return True


@transaction.atomic
def move_follow(*, follow: Follow, to: Channel, now: datetime, with_posts: bool = False) -> Follow:
    """Follows the feed in another channel of the same reader from now on. Raises Refused.

    What came before stays where it is, or (`with_posts`) goes along, as read as it is.
    """
    if to.is_notifications:
        raise Refused("Nothing is followed in the notifications. Choose another channel.", "channel")
    if with_posts and to != follow.channel:
        place_in_turn()
        _move_places(Place.objects.filter(channel=follow.channel, feed=follow.feed_id), to)
    there = Follow.objects.filter(channel=to, feed=follow.feed_id).first()
    if there is not None and there.pk != follow.pk:
        follow.delete()
        count_followers([follow.feed_id], now=now)
        return there
    follow.channel = to
    follow.save(update_fields=["channel"])
    return follow


def dissolve_channel(*, channel: Channel, into: Channel, now: datetime) -> None:
    """Deletes a channel; its feeds and posts go into another one of the same reader. Raises Refused."""
    with transaction.atomic():
        for follow in channel.follows.select_related("feed").order_by("pk"):
            move_follow(follow=follow, to=into, now=now, with_posts=True)
        place_in_turn()
        _move_places(Place.objects.filter(channel=channel), into)
    drop_channel(channel=channel, now=now)


def _move_places(places: PlaceQuerySet, to: Channel) -> None:
    """Where the other channel has, or had, the same post, that one stays as it is, and this one goes."""
    there = Exists(Place.objects.filter(channel=to, entry=OuterRef("entry")))
    unwanted = mutes_in(to)
    # Muted ones stay behind: only their own channel shows them again.
    moved = places.filter(~there).exclude(hidden=Place.Hidden.MUTED).order_by("pk").select_for_update()
    for pks in chunks(list(moved.values_list("pk", flat=True))):
        rows = Place.objects.filter(pk__in=pks)
        rows.update(channel=to)
        Unread.objects.filter(place__in=pks).update(channel=to)
        for key, is_block in unwanted.items():
            reason = Place.Hidden.REMOVED if is_block else Place.Hidden.MUTED
            hide(rows.filter(entry__author_key=key), reason)
    for pks in chunks(list(places.filter(there).order_by("pk").values_list("pk", flat=True))):
        Unread.objects.filter(place__in=pks).delete()
        Place.objects.filter(pk__in=pks).delete()


def _refuse_too_many(reader: Reader) -> None:
    most = reader.max_feeds or settings.READER_MAX_FEEDS
    if Follow.objects.filter(channel__reader=reader).count() >= most:
        raise Refused(f"You follow {most:,} feeds, which is the most. Unfollow one first.", "url")


def _found(url: str, clock: Callable[[], datetime]) -> Feed:
    """The feed behind an address, added if it is not watched. Asks the network."""
    now = clock()
    found = discover(url, now=now)
    best = found.only or found.best
    if best is None:
        raise Refused(found.problem, "url")
    feed = shared_feed_at(best.url)
    if feed is not None:
        return feed
    # What it calls itself is known already; its first reading would say the same.
    title = best.looked.parsed.title if best.looked.parsed else ""
    feed = add_feed(url=best.url, now=now, for_letters=False, pace=Feed.Pace.ADAPTIVE, title=title)
    # Should it never come to following it, it is forgotten again.
    Feed.objects.filter(pk=feed.pk, read_by=0).update(unread_since=now)
    return feed


def _backfill(channel: Channel, feed: Feed, reading: Reading, now: datetime) -> None:
    """Puts the posts of a feed's last document into a channel that has just begun to follow it."""
    told = told_of_all(feed, reading, now)
    ids = newest_of(told)
    places = backfilled(told, ids)
    items = {told.inserted[id_]: id_ for id_ in ids}
    known = Entry.objects.filter(item__in=items).order_by("pk").select_for_update(of=("self",))
    entries = {items[entry.item_id]: entry for entry in known.defer("text") if entry.item_id}
    for entry_id in ids:
        entry = entries.get(entry_id)
        if entry is None:
            # Nobody followed the feed when it came.
            entries[entry_id] = Entry.objects.create(
                item_id=told.inserted[entry_id],
                feed=feed,
                seen_at=now,
                placed_at=now,
                **columns(feed, reading, entry_id, now),
            )
        elif entry.jf2 is None:
            # Forgotten meanwhile, and new to this channel.
            Entry.objects.filter(pk=entry.pk).update(**columns(feed, reading, entry_id, entry.seen_at))
    there = set(Place.objects.filter(channel=channel, entry__feed=feed).values_list("entry_id", flat=True))
    is_block = mutes_in(channel)
    for id_ in sorted(ids, key=lambda id_: (places[id_][0], ids.index(id_))):
        entry, (at, is_unread) = entries[id_], places[id_]
        if entry.pk in there or entry.withdrawn_at is not None or is_block.get(entry.author_key):
            continue
        hidden = Place.Hidden.SEEN
        if entry.author_key in is_block:
            hidden = Place.Hidden.MUTED
        elif channels_with_a_copy(entry, [channel.pk]):
            hidden = Place.Hidden.DUPLICATE
        insert_places(entry, [PlaceIn(channel.pk, channel.reader_id, hidden, is_unread, at, came_at=now)])
