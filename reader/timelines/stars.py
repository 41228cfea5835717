from collections.abc import Collection
from datetime import datetime

from django.db.models import Exists, OuterRef, Q, QuerySet

from common.refused import Refused
from reader.models import Entry, Reader, Star, TimelineEntry
from reader.rules.order import LARGEST_KEY, Key, PageRequest, Paging, paging_of
from reader.timelines.pages import page_rows


class NoSuchEntry(Refused):
    """Missing, or not visible: errors must not tell which."""


def entry_of(reader: Reader, pk: int) -> Entry:
    """Return a post that the reader sees or starred. Raises NoSuchEntry."""
    place = TimelineEntry.objects.seen().filter(entry=OuterRef("pk"), reader=reader)
    star = Star.objects.filter(entry=OuterRef("pk"), reader=reader)
    entries = Entry.objects.filter(pk=min(pk, LARGEST_KEY), jf2__isnull=False)
    entries = entries.filter(Q(Exists(place)) | Q(Exists(star)))
    entry = entries.select_related("feed__icon").defer("text").first()
    if entry is None:
        raise NoSuchEntry("Post not found.", "entry")
    return entry


def star(*, reader: Reader, entries: Collection[int], now: datetime) -> int:
    """Star visible entries. Returns how many those are."""
    places = TimelineEntry.objects.seen().filter(reader=reader, entry__pk__any_of=frozenset(entries))
    seen = sorted(set(places.values_list("entry_id", flat=True)))
    rows = (Star(reader=reader, entry_id=pk, at=now) for pk in seen)
    Star.objects.bulk_create(rows, batch_size=1_000, ignore_conflicts=True)
    return len(seen)


def unstar(*, reader: Reader, entries: Collection[int]) -> int:
    return stars_among(reader, entries).delete()[0]


def starred_among(reader: Reader, entries: Collection[int]) -> frozenset[int]:
    return frozenset(stars_among(reader, entries).values_list("entry_id", flat=True))


def starred_page(reader: Reader, asked: PageRequest) -> tuple[list[Entry], Paging]:
    rows = Star.objects.filter(reader=reader).select_related("entry__feed__icon").defer("entry__text")
    stars = list(page_rows(asked, rows))
    keys = [Key(row.at, row.pk) for row in stars]
    return [row.entry for row in stars[: asked.limit]], paging_of(asked, keys)


def stars_among(reader: Reader, entries: Collection[int]) -> "QuerySet[Star]":
    return Star.objects.filter(reader=reader, entry__pk__any_of=frozenset(entries))
