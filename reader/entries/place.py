"""Puts due entries into channels.

Clients ask for posts newer than the newest they know, so places must become visible in the order of their
times, one transaction after the other.
"""

import logging
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection, transaction

from common.clock import utcnow
from common.db.bulk import batched
from common.passes import TimeBudget
from reader.entries.filters import Stored, asked_of_all, show_what_passes
from reader.entries.visibility import hide, note_change
from reader.models import Channel, Entry, Follow, Mute, Star, TimelineEntry, Unread

log = logging.getLogger(__name__)

LOOKED_UP_TOGETHER = 50
CHANNELS_TOGETHER = 900
TRIED_AGAIN_AFTER = timedelta(minutes=1)
# Times further ahead are of a clock that was wrong.
SET_BACK_AT_MOST = timedelta(days=1)
# Of pg_advisory_xact_lock.
PLACING = 7_301_201


@dataclass(frozen=True, slots=True)
class PlaceIn:
    """`came_at` defaults to `at`."""

    channel: int
    reader: int
    hidden: TimelineEntry.Hidden
    is_unread: bool
    at: datetime
    came_at: datetime | None = None


def place_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Failed entries are retried later."""
    left = TimeBudget(budget)
    done = 0
    while not left.is_spent:
        due = Entry.objects.due(clock()).order_by("due_at", "pk").values_list("pk", flat=True)
        pks = list(due[:LOOKED_UP_TOGETHER])
        if not pks:
            break
        done += sum(_placed(pk, clock) for pk in pks)
    return done


def _placed(pk: int, clock: Callable[[], datetime]) -> bool:
    try:
        return place_entry(entry_id=pk, clock=clock)
    except Exception:
        log.exception("could not put a post into its channels", extra={"entry": pk})
        Entry.objects.due(clock()).filter(pk=pk).update(due_at=clock() + TRIED_AGAIN_AFTER)
        return False


def place_entry(*, entry_id: int, clock: Callable[[], datetime] = utcnow) -> bool:
    """Put an entry into channels, hide it, or show it again.

    Returns False if it is not due, or filters changed meanwhile: then the next pass retries.
    """
    return _place(entry_id, asked_of_all(entry_id), clock)


@transaction.atomic
def _place(entry_id: int, asked: dict[int, tuple[Stored, bool]], clock: Callable[[], datetime]) -> bool:
    place_in_turn()
    now = arrival(clock())
    entry = Entry.objects.due(now).filter(pk=entry_id).select_for_update().defer("jf2", "text").first()
    if entry is None:
        return False
    if entry.withdrawn_at is not None:
        # Not for readers who starred it.
        keepers = Star.objects.filter(entry=entry).values("reader")
        places = TimelineEntry.objects.filter(entry=entry).exclude(reader__in=keepers)
        if hide(places, TimelineEntry.Hidden.WITHDRAWN):
            note_change(places)
    elif entry.placed_at is None:
        if _filters_now(entry) != {channel: filters for channel, (filters, _) in asked.items()}:
            return False
        _insert_for_all(entry, now, {channel for channel, (_, is_hidden) in asked.items() if is_hidden})
        entry.placed_at = now
    else:
        if show_what_passes(TimelineEntry.objects.filter(entry=entry, hidden=TimelineEntry.Hidden.WITHDRAWN)):
            note_change(TimelineEntry.objects.filter(entry=entry))
    Entry.objects.filter(pk=entry.pk).update(placed_at=entry.placed_at, due_at=None)
    return True


def place_in_turn() -> None:
    """Block other placing and changes of filters until the transaction ends."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [PLACING])


def arrival(now: datetime) -> datetime:
    """Return the time for places made in turn: streams follow it, so a clock set back does not count."""
    newest = TimelineEntry.objects.order_by("-pk").values_list("came_at", flat=True).first()
    return newest if newest and now < newest < now + SET_BACK_AT_MOST else now


def placement(*, is_muted: bool, is_copy: bool, is_filtered: bool) -> TimelineEntry.Hidden:
    if is_muted:
        return TimelineEntry.Hidden.MUTED
    if is_copy:
        return TimelineEntry.Hidden.DUPLICATE
    return TimelineEntry.Hidden.FILTERED if is_filtered else TimelineEntry.Hidden.SEEN


def insert_place(
    entry: Entry, channel: Channel, muted: Container[str], *, is_unread: bool, at: datetime, now: datetime
) -> None:
    """Put an entry into one channel. `ask_again` then judges it if there are filters, as they are slow."""
    is_muted = entry.author_key in muted
    is_copy = not is_muted and bool(channels_with_a_copy(entry, [channel.pk]))
    hidden = placement(is_muted=is_muted, is_copy=is_copy, is_filtered=bool(channel.filters))
    insert_places(entry, [PlaceIn(channel.pk, channel.reader_id, hidden, is_unread, at, came_at=now)])


def insert_places(entry: Entry, places: Iterable[PlaceIn]) -> None:
    """The entry must be locked."""
    for some in batched(list(places), CHANNELS_TOGETHER):
        rows = TimelineEntry.objects.bulk_create(
            TimelineEntry(
                channel_id=place.channel,
                reader_id=place.reader,
                entry=entry,
                feed_id=entry.feed_id,
                at=place.at,
                came_at=place.came_at or place.at,
                hidden=place.hidden,
                was_unread=place.is_unread and place.hidden != TimelineEntry.Hidden.SEEN,
            )
            for place in some
        )
        Unread.objects.bulk_create(
            Unread(place=row, channel_id=row.channel_id, reader_id=row.reader_id, at=row.at)
            for row, place in zip(rows, some, strict=True)
            if place.is_unread and place.hidden == TimelineEntry.Hidden.SEEN
        )


def _filters_now(entry: Entry) -> dict[int, Stored]:
    """They can't change within `place_in_turn`."""
    rows = Channel.objects.filter(filters__isnull=False, follows__feed=entry.feed_id)
    return dict(rows.values_list("pk", "filters"))


def _insert_for_all(entry: Entry, now: datetime, filtered: Container[int]) -> None:
    follows = Follow.objects.filter(feed=entry.feed_id).order_by("channel")
    channels = list(follows.values_list("channel", "channel__reader"))
    mutes = Mute.objects.filter(key=entry.author_key) if entry.author_key else Mute.objects.none()
    unwanted: dict[tuple[int, int | None], bool] = {
        (reader, channel): is_block
        for reader, channel, is_block in mutes.order_by("is_block").values_list(
            "reader", "channel", "is_block"
        )
    }
    for some in batched(channels, CHANNELS_TOGETHER):
        keys = [channel for channel, _ in some]
        there = set(entry.places.filter(channel__in=keys).values_list("channel", flat=True))
        copies = channels_with_a_copy(entry, keys)
        if entry.link_hash:
            # Starred without its feed, by an import before the feed was read.
            alone = Star.objects.filter(entry__feed=None, entry__item=None, entry__link_hash=entry.link_hash)
            alone.filter(reader__in=[reader for _, reader in some]).update(entry=entry)
        found = []
        for channel, reader in some:
            blocks = [unwanted.get((reader, None)), unwanted.get((reader, channel))]
            if channel in there or True in blocks:
                continue
            hidden = placement(
                is_muted=False in blocks, is_copy=channel in copies, is_filtered=channel in filtered
            )
            is_unread = not entry.starts_read
            found.append(PlaceIn(channel, reader, hidden, is_unread, at=entry.sort_at or now, came_at=now))
        insert_places(entry, found)


def channels_with_a_copy(entry: Entry, channels: Iterable[int]) -> set[int]:
    """Return channels that have, or had, the post from another feed."""
    if not entry.link_hash:
        return set()
    copies = TimelineEntry.objects.filter(channel__in=list(channels), entry__link_hash=entry.link_hash)
    return set(copies.exclude(entry=entry).values_list("channel", flat=True))
