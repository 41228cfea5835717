"""Channels, feeds and posts that somebody had in another program.

Each step can be repeated: known rows stay as they are.

Stars and read posts of another program, found by feed and id, else by link.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any
from urllib.parse import urljoin

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils.translation import gettext_noop

from common.clock import utcnow
from common.db.bulk import batched
from common.formats.written_dates import parsed_moment
from common.refused import Refused
from common.text import one_line, shortened
from feeds.addresses import host_of_url
from feeds.credentials import without_secrets
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Person
from feeds.parsing.fields import MAX_CONTENT, MAX_ENTRY_TITLE, identity
from feeds.parsing.identity import link_hash
from feeds.polling.read import clean_entry, digest
from feeds.rules.reposts import ONLY_READ, REPOST
from reader.channels.channels import ALL_CHANNELS, LONGEST_CHANNEL_NAME, add_channel
from reader.channels.filters import change_filters
from reader.channels.follows import follow_feed, shared_feed_at
from reader.entries.filters import ask_again
from reader.entries.place import NewTimelineEntry, arrival, insert_timeline_entries, lock_placing
from reader.entries.take import said_by
from reader.models import Channel, Entry, Follow, Reader, Star, TimelineEntry, Unread
from reader.models.channel import LONGEST_FOLLOW_NAME
from reader.rules.saved_posts import SavedPost

NOT_FOLLOWED = gettext_noop("You don’t follow its feed.")
NOTHING = gettext_noop("It has neither a text nor an address.")
POSTS_TOGETHER, MARKED_TOGETHER = 50, 500
_UID = re.compile(r"[A-Za-z0-9_-]{1,24}")


@dataclass(frozen=True, slots=True)
class OldPost:
    """`post` is not sanitized; its guid is the feed's own, or ""."""

    post: Post
    came_at: datetime
    is_read: bool
    is_starred: bool = False

    @property
    def date(self) -> datetime:
        return self.post.published or self.came_at


@transaction.atomic
def take_channel(
    *, reader: Reader, uid: str, name: str, kinds: Iterable[str] = (), hide: Iterable[str] = ()
) -> Channel:
    """Return the channel of that uid or name, or a new one. Raises Refused.

    A new or empty one gets the uid, as apps know channels by it, and one without filters gets those.
    """
    lock_placing()
    channel = _taken_channel(reader, uid, name)
    if channel.filters is None and not channel.is_notifications:
        channel = change_filters(channel=channel, kinds=kinds, hide=hide)
    return channel


def _taken_channel(reader: Reader, uid: str, name: str) -> Channel:
    if there := reader.channels.filter(uid=uid).first():
        return there
    name = one_line(name)[:LONGEST_CHANNEL_NAME].strip()
    channel = reader.channels.filter(name=name, is_notifications=False).first()
    if channel is not None and (channel.follows.exists() or channel.places.exists()):
        return channel
    channel = channel or add_channel(reader=reader, name=name)
    if _UID.fullmatch(uid) and uid != ALL_CHANNELS:
        channel.uid = uid
        channel.save(update_fields=["uid"])
    return channel


def follow_taken(
    *,
    channel: Channel,
    feed: Feed,
    name: str,
    read_until: datetime | None,
    clock: Callable[[], datetime] = utcnow,
) -> None:
    """Follow a feed after its old posts, and start reading it. Raises Refused."""
    name = one_line(without_secrets(name))[:LONGEST_FOLLOW_NAME].strip()
    unread = Unread.objects.filter(channel=channel, place__feed=feed)
    had = list(unread.values_list("pk", flat=True))
    _, is_new = follow_feed(channel=channel, feed=feed, name="" if name == feed.title else name, clock=clock)
    if is_new and read_until is not None:
        # Posts of its document that the other program had forgotten.
        unread.filter(at__lte=read_until).exclude(pk__in=had).delete()
    Feed.objects.filter(pk=feed.pk, status=Feed.Status.PAUSED, last_polled_at=None, for_letters=False).update(
        status=Feed.Status.ACTIVE
    )


def take_posts(
    *, reader: Reader, channel: Channel | None, feed: Feed | None, posts: Iterable[OldPost], now: datetime
) -> int:
    """Take some posts per transaction; return how many are new. Raises Refused.

    Without a channel only starred posts make sense.
    """
    waiting, done = iter(posts), 0
    while some := list(islice(waiting, POSTS_TOGETHER)):
        # Cleaning is too slow for a transaction.
        rows = [_Row(old, _columns(old, feed)) for old in some]
        rows.sort(key=lambda row: row.old.came_at)
        done += _take(reader, channel, feed, rows, now)
    return done


def mark_posts(*, feed: Feed, posts: Sequence[OldPost]) -> None:
    """Have readings recognise posts that aren't taken."""
    for some in batched(posts, MARKED_TOGETHER):
        with transaction.atomic():
            locked = Feed.objects.select_for_update().filter(pk=feed.pk).first()
            if locked is not None:
                _find_items(locked, [_Row(old, {}) for old in some])


def missing_posts(
    *, channel: Channel, feed: Feed | None, posts: Iterable[OldPost], since: datetime
) -> Iterator[OldPost]:
    """Yield posts that the channel has never had; `since` is when it took the feed's first posts."""
    waiting = iter(posts)
    while some := list(islice(waiting, POSTS_TOGETHER)):
        rows = [_Row(old, {}) for old in some]
        if feed is not None:
            _match_items(feed, rows)
        for row in rows:
            if row.item is None:
                row.columns = _columns(row.old, feed)
        hashes = [row.columns["hash"] for row in rows if row.item is None]
        same = Q(item__in=[row.item for row in rows if row.item]) | Q(feed=feed, hash__in=hashes)
        placed = TimelineEntry.objects.filter(channel=channel, entry=OuterRef("pk"))
        # Forgotten, shown here, or known to be left out.
        had = Q(jf2__isnull=True) | Q(Exists(placed)) | Q(placed_at=None) | Q(placed_at__lte=since)
        known = set(Entry.objects.filter(same & had).values_list("item", "hash"))
        items, texts = {item for item, _hash in known}, {text for _item, text in known}
        for row in rows:
            if (row.columns["hash"] not in texts) if row.item is None else (row.item not in items):
                yield row.old


@dataclass(slots=True)
class _Row:
    old: OldPost
    columns: dict[str, Any]
    item: int | None = None
    entry: Entry | None = None

    @property
    def guids(self) -> list[str]:
        return guids_of(self.old.post.guid)


def guids_of(text: str) -> list[str]:
    """Return what the id may be here: other programs use the link of a post that has none."""
    is_link = text.startswith(("http://", "https://"))
    return [guid for guid in (identity({"id": text}), identity({"link": text}) if is_link else "") if guid]


def _columns(old: OldPost, feed: Feed | None) -> dict[str, Any]:
    post = replace(old.post, content=old.post.content[:MAX_CONTENT], summary=old.post.summary[:MAX_CONTENT])
    page = feed.site_url or feed.url if feed else urljoin(post.link, "/")
    name = feed.title or feed.host if feed else host_of_url(post.link)
    return said_by(clean_entry(post, feed.url if feed else post.link), Person(name, page), old.came_at)


@transaction.atomic
def _take(
    reader: Reader, channel: Channel | None, feed: Feed | None, rows: Sequence[_Row], now: datetime
) -> int:
    lock_placing()
    now = arrival(now)
    if feed is not None:
        feed = Feed.objects.select_for_update().filter(pk=feed.pk).first()
        if feed is None:
            raise Refused("Its feed was just removed. Run it again.")
        _find_items(feed, rows)
    if channel is not None:
        channel = Channel.objects.select_for_update(no_key=True).filter(pk=channel.pk).first()
        if channel is None:
            raise Refused("Its channel was just deleted. Run it again.")
    _find_entries(reader, channel, rows)
    new = 0
    made: dict[int | str, Entry] = {}
    for row in rows:
        key = row.item or row.columns["hash"]
        row.entry = row.entry or made.get(key)
        if row.entry is None:
            new += 1
            row.entry = made[key] = Entry.objects.create(
                item_id=row.item, feed=feed, seen_at=row.old.came_at, placed_at=now, **row.columns
            )
        elif row.entry.jf2 is None:
            Entry.objects.filter(pk=row.entry.pk).update(**row.columns)
    if channel is not None:
        wanted = [
            NewTimelineEntry(row.entry, channel, min(row.old.came_at, now), is_unread=not row.old.is_read)
            for row in rows
            if row.entry is not None
        ]
        insert_timeline_entries(wanted, now=now)
        ask_again([channel.pk])
    starred = ((row.entry, min(row.old.came_at, now)) for row in rows if row.old.is_starred)
    stars = [Star(reader=reader, entry=entry, at=at) for entry, at in starred if entry is not None]
    Star.objects.bulk_create(stars, ignore_conflicts=True)
    return new


def _find_items(feed: Feed, rows: Sequence[_Row]) -> None:
    """Find items, and insert missing ones, so that readings recognise the posts.

    Newsletters decide about unknown posts of their feeds themselves.
    """
    _match_items(feed, rows)
    new: dict[str, Item] = {}
    for row in rows if not feed.for_letters else ():
        if row.item is None:
            for guid, reason in zip(row.guids, (ONLY_READ, REPOST), strict=False):
                new.setdefault(digest(guid), _item(feed, guid, row.old, reason))
    if new:
        Item.objects.bulk_create(new.values(), ignore_conflicts=True)
        _match_items(feed, rows)


def _match_items(feed: Feed, rows: Sequence[_Row]) -> None:
    ids = {digest(guid) for row in rows for guid in row.guids}
    known = dict(Item.objects.filter(feed=feed, guid_hash__in=ids).values_list("guid_hash", "pk"))
    for row in rows:
        row.item = next((known[id_] for id_ in map(digest, row.guids) if id_ in known), None)


def _item(feed: Feed, guid: str, old: OldPost, reason: str) -> Item:
    post, at = old.post, old.came_at
    return Item(
        feed=feed,
        guid=guid,
        guid_hash=digest(guid),
        link=post.link,
        link_hash=link_hash(post.link),
        title=shortened(one_line(post.title), MAX_ENTRY_TITLE),
        published_at=post.published,
        state=Item.State.EXCLUDED,
        reason=reason,
        first_seen=at,
        stable_since=at,
        last_checked=at,
    )


def _find_entries(reader: Reader, channel: Channel | None, rows: Sequence[_Row]) -> None:
    """Find entries by their items, and others by their texts."""
    pks = [row.item for row in rows if row.item is not None]
    entries = Entry.objects.filter(item__in=pks).order_by("pk").select_for_update(of=("self",))
    by_item = {entry.item_id: entry for entry in entries.defer("text")}
    hashes = [row.columns["hash"] for row in rows if row.item is None]
    by_hash: dict[str, Entry] = {}
    if hashes:
        others = Entry.objects.filter(item=None, hash__in=hashes).defer("text").order_by("-pk")
        seen = others.filter(places__channel=channel) if channel else others.filter(stars__reader=reader)
        by_hash = {entry.hash: entry for entry in seen}
    for row in rows:
        row.entry = by_item.get(row.item) if row.item is not None else by_hash.get(row.columns["hash"])


def import_saved_post(*, reader: Reader, saved: SavedPost, now: datetime) -> bool:
    """Star or add a post, and mark it as read; never as unread. Return whether that changed anything.

    Raises Refused.
    """
    feed = shared_feed_at(saved.feed_url) if saved.feed_url else None
    entries = Entry.objects.filter(link_hash=link_hash(saved.link)).exclude(link_hash="")
    if feed is not None and saved.guid:
        ids = [digest(guid) for guid in guids_of(saved.guid)]
        entries = Entry.objects.filter(item__feed=feed, item__guid_hash__in=ids)
    there = _seen(reader, entries)
    if there is not None:
        return _marked(reader, there, saved, now)
    follow = Follow.objects.of(reader).filter(feed=feed).select_related("channel").first() if feed else None
    if follow is None and not saved.is_starred:
        raise Refused(NOT_FOLLOWED)
    if not (saved.html or saved.title or saved.link):
        raise Refused(NOTHING)
    post = saved.post
    if feed is not None and not saved.guid and saved.link:
        item = Item.objects.filter(feed=feed, link_hash=link_hash(saved.link)).order_by("pk").first()
        post = replace(post, guid=item.guid if item else "")
    came_at = parsed_moment(saved.came_at) or post.published or now
    old = OldPost(post, min(came_at, now), saved.is_read, saved.is_starred)
    take_posts(reader=reader, channel=follow.channel if follow else None, feed=feed, posts=[old], now=now)
    return True


def _seen(reader: Reader, entries: "QuerySet[Entry]") -> Entry | None:
    """Return the first that the reader sees, is about to see, or starred."""
    place = TimelineEntry.objects.seen().filter(entry=OuterRef("pk"), reader=reader)
    star = Star.objects.filter(entry=OuterRef("pk"), reader=reader)
    coming = Q(placed_at=None, feed__in=Follow.objects.of(reader).values("feed"))
    whole = entries.filter(Q(Exists(place)) | Q(Exists(star)) | coming, jf2__isnull=False)
    return whole.defer("text").order_by("pk").first()


@transaction.atomic
def _marked(reader: Reader, entry: Entry, saved: SavedPost, now: datetime) -> bool:
    changed = False
    if saved.is_starred:
        at = min(parsed_moment(saved.came_at) or now, now)
        changed = Star.objects.get_or_create(reader=reader, entry=entry, defaults={"at": at})[1]
    if saved.is_read:
        unread = Unread.objects.filter(reader=reader, place__entry=entry)
        changed = bool(unread.delete()[0]) or changed
    return changed
