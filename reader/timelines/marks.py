"""Marks of posts. Places of other timelines are ignored."""

import json
import secrets
import zlib
from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from common.refused import Refused
from feeds.polling.known_items import chunks
from reader.entries.place import NewTimelineEntry, arrival, insert_timeline_entries, lock_placing
from reader.entries.visibility import hide, insert_unread, show
from reader.models import Channel, Entry, Marking, Reader, TimelineEntry, Unread
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.order import Key
from reader.rules.placement import Hidden
from reader.timelines.pages import Timeline, from_here_down, from_here_up


class NoSuchPost(Refused):
    """The post is not in the timeline."""


def places_of(reader: Reader, entries: Collection[int]) -> list[int]:
    rows = TimelineEntry.objects.seen().filter(reader=reader, entry__pk__any_of=frozenset(entries))
    return list(rows.values_list("pk", flat=True))


def mark_read(timeline: Timeline, places: Collection[int]) -> int:
    """Return how many were unread."""
    unread = Unread.objects.filter(**timeline.owner)
    return sum(unread.filter(place__in=pks).delete()[0] for pks in chunks(sorted(places)))


def mark_all_read(timeline: Timeline) -> int:
    return Unread.objects.filter(**timeline.owner).delete()[0]


def mark_read_from(timeline: Timeline, place: int) -> int:
    """Mark from this post down. Raises NoSuchPost."""
    below = from_here_down(key_in(timeline, place, "last_read_entry"), "place_id")
    return Unread.objects.filter(below, **timeline.owner).delete()[0]


def key_in(timeline: Timeline, place: int, field: str = "place") -> Key:
    """Raises NoSuchPost."""
    at = TimelineEntry.objects.filter(**timeline.owner, pk=place).values_list("at", flat=True).first()
    if at is None:
        raise NoSuchPost("This post isn’t in this channel.", field)
    return Key(at, place)


@transaction.atomic
def mark_unread(timeline: Timeline, places: Collection[int]) -> int:
    """Return how many were read."""
    done = 0
    for pks in chunks(sorted(places)):
        rows = _seen(timeline, pks).order_by("pk").select_for_update(of=("self",))
        done += insert_unread(TimelineEntry.objects.filter(pk__in=[place.pk for place in rows]))
    return done


@transaction.atomic
def remove(timeline: Timeline, places: Collection[int]) -> int:
    """Remove posts for good."""
    return sum(hide(_seen(timeline, pks), Hidden.REMOVED) for pks in chunks(sorted(places)))


@transaction.atomic
def move(timeline: Timeline, places: Collection[int], *, to: Channel, now: datetime) -> int:
    """Move posts to the top of a channel, as read as before."""
    lock_placing()
    now = arrival(now)
    rows = list(_seen(timeline, sorted(places)[:1_000]).exclude(channel=to).order_by("at", "pk"))
    entries = {
        entry.pk: entry
        for entry in Entry.objects.filter(pk__in=[row.entry_id for row in rows])
        .order_by("pk")
        .select_for_update()
        .defer("jf2", "text")
    }
    there = {place.entry_id: place for place in TimelineEntry.objects.filter(channel=to, entry__in=entries)}
    unread = set(Unread.objects.filter(place__in=[row.pk for row in rows]).values_list("place_id", flat=True))
    moved = 0
    for row in rows:
        if not hide(_seen(timeline, [row.pk]), Hidden.REMOVED):
            continue
        moved += 1
        known = there.get(row.entry_id)
        if known is None:
            new = NewTimelineEntry(entries[row.entry_id], to, now, row.pk in unread, hidden=Hidden.SEEN)
            insert_timeline_entries([new], now=now)
        elif known.hidden != Hidden.SEEN:
            TimelineEntry.objects.filter(pk=known.pk).update(at=now, came_at=now, was_unread=row.pk in unread)
            show(TimelineEntry.objects.filter(pk=known.pk))
        there[row.entry_id] = row
    return moved


def _seen(timeline: Timeline, places: Collection[int]) -> TimelineEntryQuerySet:
    return TimelineEntry.objects.seen().filter(**timeline.owner, pk__in=places)


class NothingToUndo(Refused):
    pass


def all_below(timeline: Timeline, place: int) -> Q:
    """Raises NoSuchPost."""
    return from_here_down(key_in(timeline, place), "place_id")


def all_between(timeline: Timeline, top: int, place: int) -> Q:
    """Accept any order. Raises NoSuchPost."""
    low, high = sorted((key_in(timeline, top), key_in(timeline, place)))
    return from_here_down(high, "place_id") & from_here_up(low, "place_id")


@transaction.atomic
def mark_read_undoably(timeline: Timeline, wanted: Q, *, now: datetime, onto: str = "") -> Marking | None:
    """Mark and remember the posts; return None if none was unread.

    `onto` names the last marking, to be undone with this one.
    """
    Reader.objects.select_for_update(no_key=True).get(pk=timeline.reader.pk)
    unread = timeline.unread().filter(wanted)
    places = list(unread.order_by("place").select_for_update(of=("self",)).values_list("place_id", flat=True))
    if not places:
        return None
    for pks in chunks(places):
        Unread.objects.filter(place__in=pks, reader=timeline.reader).delete()
    if onto and (last := Marking.objects.filter(reader=timeline.reader, name=onto).first()):
        places = sorted({*places, *_unpacked(bytes(last.places))})
    packed = {"places": _packed(places), "count": len(places), "name": secrets.token_hex(8), "at": now}
    return Marking.objects.update_or_create(reader=timeline.reader, defaults=packed)[0]


@transaction.atomic
def undo(*, reader: Reader, name: str) -> int:
    """Raises NothingToUndo."""
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    marking = Marking.objects.filter(reader=reader, name=name).first()
    if marking is None:
        raise NothingToUndo("That was already undone, or something else was marked since.", "name")
    done = mark_unread(Timeline(reader), _unpacked(bytes(marking.places)))
    marking.delete()
    return done


def _packed(places: list[int]) -> bytes:
    """As differences 200,000 keys take some 10 kB."""
    steps = [here - before for before, here in zip([0, *places], places, strict=False)]
    return zlib.compress(json.dumps(steps, separators=(",", ":")).encode())


def _unpacked(packed: bytes) -> list[int]:
    places, key = [], 0
    for step in json.loads(zlib.decompress(packed)):
        key += step
        places.append(key)
    return places
