"""Creates entries in the poll's transaction."""

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import Q

from feeds.models import Feed, Item
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Person
from feeds.parsing.identity import link_hash
from feeds.polling.audience import Told
from feeds.polling.known_items import chunks
from feeds.polling.read import Reading
from feeds.rules.reposts import REPOST
from reader.entries.visibility import insert_unread
from reader.models import Entry, TimelineEntry
from reader.rules.jf2 import author_key, content_of, kind_of, post_jf2, searched_text
from reader.rules.retention import BACKFILLED, starting_unread


def copy_posts(feed: Feed, told: Told) -> None:
    known = _known(feed, told)
    _change(feed, told, known)
    for chunk in chunks(told.withdrawn):
        rows = Entry.objects.filter(item__in=chunk, withdrawn_at=None)
        rows.update(withdrawn_at=told.moment, due_at=told.moment)
    _insert(feed, told, known)
    if told.reading.corrected:
        seen = TimelineEntry.objects.seen().filter(entry__item__in=told.reading.corrected)
        locked = seen.filter(reader__corrected_unread=True).order_by("pk").select_for_update(of=("self",))
        for pks in chunks([place.pk for place in locked]):
            insert_unread(TimelineEntry.objects.filter(pk__in=pks))


def take_page(item_id: int, html: str) -> None:
    rows = Entry.objects.filter(item=item_id, jf2__isnull=False)
    for entry in rows.select_for_update(of=("self",)):
        jf2 = {**(entry.jf2 or {}), "content": content_of(Post("", content=html))}
        rows.filter(pk=entry.pk).update(jf2=jf2, text=searched_text(jf2))


def newest_of(told: Told) -> list[str]:
    """Return new posts, oldest first; at most a hundred of a newly followed feed."""
    order = [id_ for id_ in told.reading.document.newest_first() if id_ in told.inserted]
    return list(reversed(order[:BACKFILLED] if told.first else order))


def backfilled(told: Told, ids: Iterable[str]) -> dict[str, tuple[datetime, bool]]:
    """Return dates and unread states of posts from before the follow."""
    moment = told.moment
    dates = {id_: min(_date(told.reading, id_) or moment, moment) for id_ in ids}
    newest = sorted(dates, key=dates.__getitem__, reverse=True)
    unread = set(newest[: starting_unread([dates[id_] for id_ in newest], moment)])
    return {id_: (date, id_ in unread) for id_, date in dates.items()}


def columns(feed: Feed, reading: Reading, id_: str, seen_at: datetime) -> dict[str, Any]:
    site = Person(feed.title or feed.host, feed.site_url or feed.url, reading.channel.image)
    return said_by(reading.cleaned(id_), site, seen_at, known_hash=_hash(reading, id_))


def said_by(entry: Post, site: Person, seen_at: datetime, *, known_hash: str = "") -> dict[str, Any]:
    """Return columns for a sanitized post; `site` replaces a missing author."""
    jf2 = post_jf2(entry, feed=site, seen_at=seen_at)
    return {
        "hash": known_hash or hashlib.sha256(repr(jf2).encode()).hexdigest(),
        "jf2": jf2,
        "text": searched_text(jf2),
        "link_hash": link_hash(entry.link),
        "author_key": author_key(jf2.get("author", {}).get("url", "") or site.url),
        "kind": kind_of(jf2),
        "published": entry.published,
    }


def _insert(feed: Feed, told: Told, known: Mapping[str, "_KnownEntry"]) -> None:
    new = newest_of(told)
    places = backfilled(told, new) if told.first else _read_elsewhere(feed, told)
    rows = []
    for id_ in new:
        if id_ in known:
            continue
        sort_at, is_unread = places.get(id_, (None, True))
        rows.append(
            Entry(
                item_id=told.inserted[id_],
                feed=feed,
                seen_at=told.moment,
                due_at=told.moment,
                sort_at=sort_at,
                starts_read=not is_unread,
                **columns(feed, told.reading, id_, told.moment),
            )
        )
    Entry.objects.bulk_create(rows, batch_size=100)


def _read_elsewhere(feed: Feed, told: Told) -> dict[str, tuple[datetime, bool]]:
    """Return dates of new posts that start as read: another program knew newer ones."""
    until = feed.read_elsewhere_until
    if until is None:
        return {}
    order = told.reading.document.newest_first()
    known = next((number for number, id_ in enumerate(order) if id_ not in told.inserted), len(order))
    dates = {id_: _date(told.reading, id_) for id_ in told.inserted}
    below = set(order[known:])
    return {
        id_: (date or until, False)
        for id_, date in dates.items()
        if (date <= until if date else id_ in below)
    }


def _change(feed: Feed, told: Told, known: Mapping[str, "_KnownEntry"]) -> None:
    """Update entries, found by link if posts got other ids."""
    for id_, entry in known.items():
        changes: dict[str, Any] = {}
        if entry.is_whole and entry.hash != _hash(told.reading, id_):
            changes = columns(feed, told.reading, id_, entry.seen_at)
        if entry.withdrawn_at is not None:
            changes |= {"withdrawn_at": None, "due_at": told.moment}
        if changes:
            Entry.objects.filter(pk=entry.pk).update(**changes)


class _KnownEntry(NamedTuple):
    pk: int
    hash: str
    withdrawn_at: datetime | None
    seen_at: datetime
    is_whole: bool


def _known(feed: Feed, told: Told) -> dict[str, _KnownEntry]:
    rows = Entry.objects.annotate(is_whole=Q(jf2__isnull=False)).order_by("pk")
    entries: dict[str, _KnownEntry] = {}
    for chunk in chunks(list(told.reading.entries)):
        there = rows.filter(item__feed=feed, item__guid_hash__in=chunk)
        for id_, *values in there.values_list("item__guid_hash", *_KnownEntry._fields):
            entries[id_] = _KnownEntry(*values)
        others = [id_ for id_ in chunk if id_ not in entries and id_ not in told.inserted]
        if others:
            again = Item.objects.filter(feed=feed, guid_hash__in=others, reason=REPOST)
            by_link = {link: id_ for id_, link in again.values_list("guid_hash", "link_hash") if link}
            first = rows.filter(feed=feed, link_hash__in=by_link)
            for link, *values in first.values_list("link_hash", *_KnownEntry._fields):
                entries.setdefault(by_link[link], _KnownEntry(*values))
    return entries


def _hash(reading: Reading, id_: str) -> str:
    """Of what letters and readers show."""
    text = f"{reading.document.entries[id_].content_hash}\n{reading.entries[id_].social!r}"
    return hashlib.sha256(text.encode()).hexdigest()


def _date(reading: Reading, id_: str) -> datetime | None:
    entry = reading.entries[id_]
    return entry.published or entry.updated
