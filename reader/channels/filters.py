"""Changing what a channel hides by itself, and looking first at what that would do."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max, Q, QuerySet

from common.passes import TimeBudget
from common.refused import Refused
from feeds.addresses import MAX_FEED_URL, is_address
from reader.entries.filters import ASKED_ABOUT, ask_filters_of, show_what_passes, verdict
from reader.entries.place import place_in_turn
from reader.entries.visibility import hide
from reader.models import Channel, Entry, Mute, Reader, TimelineEntry
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.authors import author_key
from reader.rules.filters import Filters, FilterVerdict, checked_filters
from reader.rules.order import LARGEST_KEY

MAX_MUTES = 1_000


@transaction.atomic
def mute(*, reader: Reader, channel: Channel | None, url: str, now: datetime, is_block: bool = False) -> None:
    """Hides an author's posts in a channel, or in all (None), and those to come. Raises Refused.

    A block takes them out for ever.
    """
    key = _key(url)
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    if reader.mutes.count() >= MAX_MUTES:
        raise Refused(f"There may be {MAX_MUTES:,} muted and blocked authors.", "url")
    Mute.objects.get_or_create(
        reader=reader, channel=channel, is_block=is_block, key=key, defaults={"url": url, "added_at": now}
    )
    hide(
        _places(reader, channel, key),
        TimelineEntry.Hidden.REMOVED if is_block else TimelineEntry.Hidden.MUTED,
    )


@transaction.atomic
def unmute(*, reader: Reader, channel: Channel | None, url: str, is_block: bool = False) -> None:
    """Muted posts are shown again, as read as they were; what was blocked does not come back."""
    key = _key(url)
    Mute.objects.filter(reader=reader, channel=channel, is_block=is_block, key=key).delete()
    if is_block:
        return
    hidden = _places(reader, channel, key).filter(hidden=TimelineEntry.Hidden.MUTED)
    left = Mute.objects.filter(reader=reader, key=key, is_block=False)
    if left.filter(channel=None).exists():
        return
    hidden = hidden.exclude(channel__in=left.values("channel"))
    taken_back = hidden.filter(entry__withdrawn_at__isnull=False)
    taken_back.update(hidden=TimelineEntry.Hidden.WITHDRAWN)
    show_what_passes(hidden)


def muted(*, reader: Reader, channel: Channel | None, is_block: bool = False) -> "QuerySet[Mute]":
    """Those of exactly that channel, or of all channels at once (None)."""
    return Mute.objects.filter(reader=reader, channel=channel, is_block=is_block)


def authors_of(reader: Reader, keys: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return the authors as their newest posts in the reader's channels show them (jf2), by their keys."""
    places = TimelineEntry.objects.filter(reader=reader, entry__author_key__in=set(keys))
    newest = places.values("entry__author_key").annotate(newest=Max("entry")).values_list("newest", flat=True)
    entries = Entry.objects.in_bulk(list(newest))
    return {one.author_key: (one.jf2 or {}).get("author") or {} for one in entries.values()}


def mutes_in(channel: Channel) -> dict[str, bool]:
    """The authors who are not wanted in a channel: whether they are blocked, by their keys."""
    rows = Mute.objects.filter(Q(channel=channel) | Q(channel=None), reader=channel.reader_id)
    return dict(rows.order_by("is_block").values_list("key", "is_block"))


def _key(url: str) -> str:
    if not is_address(url.strip()):
        raise Refused(
            f"Give the author's address, which begins with https:// (at most {MAX_FEED_URL:,} characters).",
            "url",
        )
    return author_key(url.strip())


def _places(reader: Reader, channel: Channel | None, key: str) -> TimelineEntryQuerySet:
    places = TimelineEntry.objects.filter(reader=reader, entry__author_key=key)
    return places.filter(channel=channel) if channel else places


TRIED_ON = 30


@dataclass(frozen=True, slots=True)
class Previewed:
    """One of the newest posts of a channel, and what filters would do to it."""

    place: TimelineEntry
    verdict: FilterVerdict


def change_filters(
    *,
    channel: Channel,
    kinds: Iterable[str] = (),
    hide: Iterable[str] = (),
    keep: Iterable[str] = (),
    at_once: timedelta | None = timedelta(0),
) -> Channel:
    """Hides in a channel what fits, what stands there and what will come; without any, shows all again.

    What is not asked about `at_once` (None: all is) is left to `ask_filters`. Raises InvalidFilter, and
    Refused for the notifications.
    """
    if channel.is_notifications:
        raise Refused("The notifications have no filters. Mute whom you do not want to see.", "channel")
    filters = checked_filters(kinds=kinds, hide=hide, keep=keep)
    with transaction.atomic():
        # What is being placed by the filters before is there when these are asked.
        place_in_turn()
        channel = Channel.objects.select_for_update(no_key=True).get(pk=channel.pk)
        if filters.stored != channel.filters:
            channel.filters, channel.filters_trouble = filters.stored, ""
            channel.ask_below = LARGEST_KEY
            channel.save(update_fields=["filters", "filters_trouble", "ask_below"])
    ask_filters_of(channel, left=TimeBudget(at_once))
    return channel


def preview_filters(channel: Channel, filters: Filters) -> list[Previewed]:
    """The newest posts of a channel, also those that are filtered now, and what these filters would say."""
    places = TimelineEntry.objects.filter(channel=channel, hidden__in=ASKED_ABOUT).select_related(
        "entry", "feed"
    )
    rows = places.select_related("channel").defer("entry__text").order_by("-at", "-pk")[:TRIED_ON]
    return [Previewed(row, verdict(filters, row.entry)) for row in rows]
