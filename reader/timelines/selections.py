"""Selections of posts for APIs without places, each post once. Unread in any channel is unread.

Only followed feeds and starred posts are selected: clients would ask again and again for other feeds.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, NamedTuple

from django.db.models import BigIntegerField, Count, Exists, ExpressionWrapper, F, Max, OuterRef, Q, QuerySet

from common.db.bulk import batched
from reader.models import Channel, Entry, Follow, Reader, Star, TimelineEntry, Unread
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.order import Key, PageRequest
from reader.timelines.pages import page_rows
from reader.timelines.stars import starred_among

READ_TOGETHER = 100

Tallies = Mapping[int, tuple[int, datetime]]


class ReadState(Enum):
    READ = "read"
    UNREAD = "unread"
    STARRED = "starred"
    NOTHING = "nothing"


OPPOSITES: Mapping[object, ReadState] = {ReadState.READ: ReadState.UNREAD, ReadState.UNREAD: ReadState.READ}
# An int is a feed's key.
Trait = ReadState | Channel | int


@dataclass(frozen=True, slots=True)
class Selection:
    """Posts with all `traits` and none of `without`, that came in an inclusive interval."""

    reader: Reader
    traits: tuple[Trait, ...] = ()
    without: tuple[Trait, ...] = ()
    since: datetime | None = None
    until: datetime | None = None

    @property
    def wanted(self) -> tuple[Trait, ...]:
        """Return traits, with opposites of unwanted states."""
        return (*self.traits, *(OPPOSITES[trait] for trait in self.without if trait in OPPOSITES))


@dataclass(frozen=True, slots=True)
class Standing:
    entry: Entry
    channels: tuple[int, ...]
    came_at: datetime
    is_read: bool
    is_starred: bool


class SelectedPart(NamedTuple):
    """Rows to search, names of their fields, and traits of all."""

    rows: "QuerySet[Any]"
    moment: str
    key: str
    entry: str
    feed: str
    came: str
    given: tuple[Trait, ...] = ()


def select(selection: Selection, asked: PageRequest) -> dict[int, Key]:
    """Return entries in order, with their keys, by one statement: limit + 1 of them if there are more."""
    query = _query(selection)
    rows = query.rows.filter(_condition(selection, query))
    page = page_rows(asked, rows, query.key, query.moment)
    return {entry: Key(*key) for entry, *key in page.values_list(query.entry, query.moment, query.key)}


def mark_selected_read(selection: Selection) -> None:
    query = _unread(selection.reader)
    query.rows.filter(_condition(selection, query)).delete()


def unread_tallies(reader: Reader) -> tuple[Tallies, Tallies]:
    """Return numbers of unread posts and newest times, by feed and by channel, omitting zeros."""
    query = _unread(reader)
    rows = query.rows.filter(_condition(Selection(reader), query)).order_by()
    numbers = {"posts": Count("place__entry", distinct=True), "newest": Max("place__came_at")}
    feeds = rows.values_list("place__feed").annotate(**numbers)
    same = rows.alias(whose=_computed("place__entry__places__reader"))
    channels = same.filter(whose=reader.pk, place__entry__places__hidden__lt=1)
    channels = channels.values_list("place__entry__places__channel").annotate(**numbers)
    return (
        {feed: (posts, newest) for feed, posts, newest in feeds},
        {channel: (posts, newest) for channel, posts, newest in channels},
    )


def standings(reader: Reader, entries: Sequence[int]) -> Iterator[Standing]:
    """Yield posts in this order, if the reader sees them.

    Reads a hundred texts at a time, since callers may stop early.
    """
    places: dict[int, list[Any]] = {}
    rows = (
        TimelineEntry.objects.seen()
        .filter(reader=reader, entry__pk__any_of=frozenset(entries))
        .order_by("pk")
    )
    shown = rows.annotate(is_unread=Exists(Unread.objects.filter(place=OuterRef("pk"))))
    for row in shown.values_list("entry", "channel", "came_at", "is_unread", named=True):
        places.setdefault(row.entry, []).append(row)
    starred = starred_among(reader, entries)
    visible = [entry for entry in dict.fromkeys(entries) if entry in places or entry in starred]
    texts = Entry.objects.filter(jf2__isnull=False).select_related("feed__icon").defer("text")
    for some in batched(visible, READ_TOGETHER):
        by_key = texts.in_bulk(list(some))
        for entry in (by_key[pk] for pk in some if pk in by_key):
            seen = places.get(entry.pk, [])
            yield Standing(
                entry=entry,
                channels=tuple(row.channel for row in seen),
                came_at=max((row.came_at for row in seen), default=entry.seen_at),
                is_read=not any(row.is_unread for row in seen),
                is_starred=entry.pk in starred,
            )


def _query(selection: Selection) -> SelectedPart:
    """Return the fewest rows with each post once."""
    reader, wanted = selection.reader, selection.wanted
    if ReadState.STARRED in wanted:
        stars = Star.objects.filter(reader=reader)
        return SelectedPart(stars, "at", "pk", "entry_id", "entry__feed", "at", (ReadState.STARRED,))
    if ReadState.UNREAD in wanted:
        query = _unread(reader)
        return query._replace(
            rows=query.rows.filter(~_again(query, _places(reader).filter(unread__isnull=False)))
        )
    places = TimelineEntry.objects.seen()
    channel = next((trait for trait in wanted if isinstance(trait, Channel)), None)
    if channel is not None:
        return SelectedPart(
            places.filter(channel=channel), "at", "pk", "entry_id", "feed", "came_at", (channel,)
        )
    # Clients stop at the newest post that they know.
    rows = places.filter(reader=reader)
    query = SelectedPart(rows, "came_at", "pk", "entry_id", "feed", "came_at")
    return query._replace(rows=rows.filter(~_again(query, _places(reader))))


def _unread(reader: Reader) -> SelectedPart:
    """A post may have several."""
    rows = Unread.objects.filter(reader=reader)
    names = ("at", "place_id", "place__entry_id", "place__feed", "place__came_at")
    return SelectedPart(rows, *names, (ReadState.UNREAD,))


def _places(reader: Reader) -> TimelineEntryQuerySet:
    """Return a reader's places, to be looked up by entry.

    Expressions rule out other indexes: without statistics, databases may scan all of the reader's places for
    each post, though an entry has few.
    """
    return TimelineEntry.objects.alias(whose=_computed("reader")).filter(whose=reader.pk, hidden__lt=1)


def _computed(column: str) -> "ExpressionWrapper[Any]":
    return ExpressionWrapper(F(column) + 0, output_field=BigIntegerField())


def _again(query: SelectedPart, places: TimelineEntryQuerySet) -> Exists:
    moment, key = OuterRef(query.moment), OuterRef(query.key)
    newer = Q(**{f"{query.moment}__gt": moment}) | Q(**{query.moment: moment, "pk__gt": key})
    return Exists(places.filter(newer, entry=OuterRef(query.entry)))


def _condition(selection: Selection, query: SelectedPart) -> Q:
    condition = Q()
    if query.given != (ReadState.STARRED,):
        followed = Follow.objects.filter(channel__reader=selection.reader)
        condition &= Q(**{f"{query.feed}__in": followed.values("feed")})
    for trait in selection.wanted:
        if trait not in query.given:
            condition &= _has(trait, selection.reader, query)
    for trait in selection.without:
        if trait not in OPPOSITES:
            condition &= ~_has(trait, selection.reader, query)
    if selection.since is not None:
        condition &= Q(**{f"{query.came}__gte": selection.since})
    if selection.until is not None:
        condition &= Q(**{f"{query.came}__lte": selection.until})
    return condition


def _has(trait: Trait, reader: Reader, query: SelectedPart) -> Q:
    entry = OuterRef(query.entry)
    match trait:
        case ReadState.UNREAD:
            return Q(Exists(_places(reader).filter(unread__isnull=False, entry=entry)))
        case ReadState.READ:
            return ~_has(ReadState.UNREAD, reader, query)
        case ReadState.STARRED:
            return Q(Exists(Star.objects.filter(reader=reader, entry=entry)))
        case ReadState.NOTHING:
            return Q(pk__in=())
        case Channel():
            return Q(Exists(TimelineEntry.objects.seen().filter(channel=trait, entry=entry)))
        case _:
            return Q(**{query.feed: trait})
