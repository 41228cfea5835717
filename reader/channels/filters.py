from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Max, Q
from django.utils.translation import ngettext

from common.passes import TimeBudget
from common.refused import Refused, TranslatedRefusal
from feeds.addresses import MAX_FEED_URL, is_address
from reader.entries.filters import ASKED_ABOUT, ask_filters_of, show_what_passes, verdict
from reader.entries.place import lock_placing
from reader.entries.visibility import hide
from reader.models import Channel, Entry, Mute, Reader, TimelineEntry
from reader.models.entry import TimelineEntryQuerySet
from reader.rules.filters import Filters, FilterVerdict, checked_filters
from reader.rules.jf2 import author_key
from reader.rules.order import LARGEST_KEY

MAX_MUTES = 1_000
TRIED_ON = 30


@transaction.atomic
def mute(*, reader: Reader, channel: Channel | None, url: str, now: datetime, is_block: bool = False) -> None:
    """Hide an author's posts in a channel, or in all (None). Raises Refused."""
    key = checked_key(url)
    Reader.objects.select_for_update(no_key=True).get(pk=reader.pk)
    if reader.mutes.count() >= MAX_MUTES:
        words = ngettext(
            "You can mute or block at most %(most)s author.",
            "You can mute or block at most %(most)s authors.",
            MAX_MUTES,
        )
        raise TranslatedRefusal(words % {"most": f"{MAX_MUTES:,}"}, "url")
    Mute.objects.get_or_create(
        reader=reader, channel=channel, is_block=is_block, key=key, defaults={"url": url, "added_at": now}
    )
    reason = TimelineEntry.Hidden.REMOVED if is_block else TimelineEntry.Hidden.MUTED
    hide(_places(reader, channel, key), reason)


@transaction.atomic
def unmute(*, reader: Reader, channel: Channel | None, url: str, is_block: bool = False) -> None:
    """Show muted posts again. Blocked ones do not return."""
    key = checked_key(url)
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


def authors_of(reader: Reader, keys: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """Return jf2 authors from their newest posts."""
    places = TimelineEntry.objects.filter(reader=reader, entry__author_key__in=set(keys))
    newest = places.values("entry__author_key").annotate(newest=Max("entry")).values_list("newest", flat=True)
    entries = Entry.objects.in_bulk(list(newest))
    return {entry.author_key: (entry.jf2 or {}).get("author") or {} for entry in entries.values()}


def mutes_in(channel: Channel) -> dict[str, bool]:
    """Return whether authors are blocked, by key."""
    rows = Mute.objects.filter(Q(channel=channel) | Q(channel=None), reader=channel.reader_id)
    return dict(rows.order_by("is_block").values_list("key", "is_block"))


def checked_key(url: str) -> str:
    """Raises Refused."""
    if not is_address(url.strip()):
        raise Refused(
            f"Enter the author’s address, which starts with https:// (at most {MAX_FEED_URL:,} characters).",
            "url",
        )
    return author_key(url.strip())


def _places(reader: Reader, channel: Channel | None, key: str) -> TimelineEntryQuerySet:
    places = TimelineEntry.objects.filter(reader=reader, entry__author_key=key)
    return places.filter(channel=channel) if channel else places


def change_filters(
    *,
    channel: Channel,
    kinds: Iterable[str] = (),
    hide: Iterable[str] = (),
    keep: Iterable[str] = (),
    at_once: timedelta | None = timedelta(0),
) -> Channel:
    """Replace a channel's filters, and judge its posts. Raises Refused and InvalidFilter.

    Posts not judged within `at_once` (None: no limit) are left to `ask_filters`.
    """
    if channel.is_notifications:
        raise Refused("The notifications channel has no filters. Mute an author instead.", "channel")
    filters = checked_filters(kinds=kinds, hide=hide, keep=keep)
    with transaction.atomic():
        # Posts are being placed by the old filters.
        lock_placing()
        channel = Channel.objects.select_for_update(no_key=True).get(pk=channel.pk)
        if filters.stored != channel.filters:
            channel.filters, channel.filters_trouble = filters.stored, ""
            channel.ask_below = LARGEST_KEY
            channel.save(update_fields=["filters", "filters_trouble", "ask_below"])
    ask_filters_of(channel, left=TimeBudget(at_once))
    return channel


def preview_filters(channel: Channel, filters: Filters) -> list[tuple[TimelineEntry, FilterVerdict]]:
    """Judge the newest posts, including filtered ones."""
    places = TimelineEntry.objects.filter(channel=channel, hidden__in=ASKED_ABOUT).order_by("-at", "-pk")
    rows = places.select_related("entry", "feed", "channel").defer("entry__text")[:TRIED_ON]
    return [(row, verdict(filters, row.entry)) for row in rows]
