from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from django.db.models import Count, Exists, Model, OuterRef, Q, QuerySet, Subquery

from feeds.models import Feed
from reader.models import Channel, Reader, TimelineEntry, Unread
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.order import EPOCH, Key, PageRequest, Paging, paging_of

# All forty columns of feeds took a sixth of a page's time.
SHOWN_OF_FEED = {"id", "url", "host", "title", "site_url"}
NOT_SHOWN = (
    "entry__text",
    *(f"feed__{field.name}" for field in Feed._meta.concrete_fields if field.name not in SHOWN_OF_FEED),
)
# Unread posts that are counted by feed: 100,000 would take longer than a page.
MOST_COUNTED = 2_000
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Posts of a channel or all (None), and of a feed (its key) or all."""

    reader: Reader
    channel: Channel | None = None
    feed: int | None = None

    @property
    def owner(self) -> dict[str, Any]:
        """Condition that the indexes of places and unread rows begin with."""
        return {"channel": self.channel} if self.channel else {"reader": self.reader}

    def seen(self) -> TimelineEntryQuerySet:
        rows = TimelineEntry.objects.seen().filter(**self.owner)
        return rows if self.feed is None else rows.filter(feed=self.feed)

    def unread(self) -> "QuerySet[Unread]":
        rows = Unread.objects.filter(**self.owner)
        return rows if self.feed is None else rows.filter(place__feed=self.feed)


@dataclass(frozen=True, slots=True)
class Page:
    """Places with entries, and keys of unread ones."""

    places: tuple[TimelineEntry, ...]
    unread: frozenset[int]
    paging: Paging


def page_of(timeline: Timeline, asked: PageRequest, *, unread_only: bool = False) -> Page:
    rows: tuple[QuerySet[Any], str] = (timeline.seen(), "pk")
    if unread_only:
        rows = timeline.unread(), "place_id"
    keys = [Key(*row) for row in page_rows(asked, *rows).values_list("at", rows[1])]
    places, unread = with_entries([key.place for key in keys[: asked.limit]])
    return Page(places, unread, paging_of(asked, keys))


def page_rows(asked: PageRequest, rows: "QuerySet[M]", key: str = "pk", moment: str = "at") -> "QuerySet[M]":
    """Return rows in order: limit + 1 of them if there are more."""
    if asked.from_ is not None:
        from_here = from_here_up if asked.oldest_first else from_here_down
        rows = rows.filter(from_here(asked.from_, key, moment))
    if asked.newer_than is not None:
        rows = rows.filter(newer_than(asked.newer_than, key, moment))
    way = "" if asked.oldest_first else "-"
    return rows.order_by(f"{way}{moment}", f"{way}{key}")[: asked.limit + 1]


def with_entries(pks: Sequence[int]) -> tuple[tuple[TimelineEntry, ...], frozenset[int]]:
    """Return places in this order, and the unread ones."""
    rows = (
        TimelineEntry.objects.filter(pk__in=pks)
        .select_related("entry", "feed__icon", "channel")
        .defer(*NOT_SHOWN)
    )
    is_unread = Exists(Unread.objects.filter(place=OuterRef("pk")))
    rows_by_pk = {place.pk: place for place in rows.annotate(is_unread=is_unread)}
    places = tuple(rows_by_pk[pk] for pk in pks if pk in rows_by_pk)
    return places, frozenset(place.pk for place in places if getattr(place, "is_unread", False))


def newest_key(timeline: Timeline, moment: str = "at") -> Key:
    """Return a key before all posts if there are none."""
    newest = timeline.seen().order_by(f"-{moment}", "-pk").values_list(moment, "pk").first()
    return Key(*newest) if newest else Key(EPOCH, 0)


def arrivals(reader: Reader, since: Key, *, limit: int) -> list[tuple[Key, bool]]:
    """Return the oldest first, and whether each is on top."""
    rows = TimelineEntry.objects.seen().filter(newer_than(since, at="came_at"), reader=reader)
    found = rows.order_by("came_at", "pk").values_list("came_at", "pk", "at")[:limit]
    return [(Key(came_at, pk), at >= came_at) for came_at, pk, at in found]


def from_here_down(key: Key, place: str = "pk", at: str = "at") -> Q:
    """At or below the key. Databases would read everything above for a plain OR."""
    return Q(**{f"{at}__lte": key.at}) & (Q(**{f"{at}__lt": key.at}) | Q(**{f"{place}__lte": key.place}))


def from_here_up(key: Key, place: str = "pk", at: str = "at") -> Q:
    return Q(**{f"{at}__gte": key.at}) & (Q(**{f"{at}__gt": key.at}) | Q(**{f"{place}__gte": key.place}))


def newer_than(key: Key, place: str = "pk", at: str = "at") -> Q:
    return Q(**{f"{at}__gte": key.at}) & (Q(**{f"{at}__gt": key.at}) | Q(**{f"{place}__gt": key.place}))


def unread_counts(channels: Sequence[int]) -> dict[int, int]:
    """Omit channels without any."""
    rows = Unread.objects.filter(channel__in=channels).order_by().values("channel").annotate(n=Count("pk"))
    return dict(rows.values_list("channel", "n"))


def channels_with_unread(reader: Reader) -> list[tuple[Channel, int]]:
    """Return them in order, with their counts."""
    channels = list(reader.channels.order_by("-is_notifications", "position", "pk"))
    counts = unread_counts([channel.pk for channel in channels])
    return [(channel, counts.get(channel.pk, 0)) for channel in channels]


def newest_unread_by_feed(reader: Reader) -> Mapping[tuple[int, int | None], int]:
    """Count the newest MOST_COUNTED unread posts by (channel, feed)."""
    # For a join, PostgreSQL would scan all places, also of what is read.
    feed = TimelineEntry.objects.filter(pk=OuterRef("place")).values("feed")
    newest = Unread.objects.filter(reader=reader).order_by("-at", "-place")
    return Counter(newest.values_list("channel", Subquery(feed))[:MOST_COUNTED])


def neighbours(place: TimelineEntry) -> tuple[TimelineEntry | None, TimelineEntry | None]:
    rows = TimelineEntry.objects.seen().filter(channel=place.channel_id).exclude(pk=place.pk)
    key = Key(place.at, place.pk)
    newer = rows.filter(newer_than(key)).order_by("at", "pk").first()
    return newer, rows.filter(from_here_down(key)).order_by("-at", "-pk").first()
