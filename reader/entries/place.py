"""Puts due entries into channels.

Clients ask for posts newer than the newest they know, so places must become visible in the order of their
times, one transaction after the other.
"""

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction

from common.clock import utcnow
from common.db.bulk import batched
from common.passes import TimeBudget
from reader.entries.filters import Stored, asked_of_all, show_what_passes
from reader.entries.visibility import hide, note_change
from reader.models import Channel, Entry, Mute, Star, TimelineEntry, Unread
from reader.rules.placement import Hidden, placement

log = logging.getLogger(__name__)

LOOKED_UP_TOGETHER = 50
INSERTED_TOGETHER = 900
TRIED_AGAIN_AFTER = timedelta(minutes=1)
# Times further ahead are of a clock that was wrong.
SET_BACK_AT_MOST = timedelta(days=1)
# Of pg_advisory_xact_lock.
PLACING = 7_301_201


class NewTimelineEntry(NamedTuple):
    """`placement` decides about `hidden` unless it is given. Posts that filters have to judge are hidden."""

    entry: Entry
    channel: Channel
    at: datetime
    is_unread: bool
    is_filtered: bool | None = None
    hidden: Hidden | None = None


def place_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    """Failed entries are retried later."""
    left = TimeBudget(budget)
    done = 0
    while not left.is_spent:
        due = Entry.objects.due(clock()).order_by("due_at", "pk").values_list("pk", flat=True)
        pks = list(due[:LOOKED_UP_TOGETHER])
        if not pks:
            break
        for pk in pks:
            try:
                done += place_entry(entry_id=pk, clock=clock)
            except Exception:
                log.exception("could not put a post into its channels", extra={"entry": pk})
                Entry.objects.due(clock()).filter(pk=pk).update(due_at=clock() + TRIED_AGAIN_AFTER)
    return done


def place_entry(*, entry_id: int, clock: Callable[[], datetime] = utcnow) -> bool:
    """Put an entry into channels, hide it, or show it again.

    Returns False if it is not due, or filters changed meanwhile: then the next pass retries.
    """
    return _place(entry_id, asked_of_all(entry_id), clock)


@transaction.atomic
def _place(entry_id: int, asked: dict[int, tuple[Stored, bool]], clock: Callable[[], datetime]) -> bool:
    lock_placing()
    now = arrival(clock())
    entry = Entry.objects.due(now).filter(pk=entry_id).select_for_update().defer("jf2", "text").first()
    if entry is None:
        return False
    if entry.withdrawn_at is not None:
        # Not for readers who starred it.
        keepers = Star.objects.filter(entry=entry).values("reader")
        places = TimelineEntry.objects.filter(entry=entry).exclude(reader__in=keepers)
        if hide(places, Hidden.WITHDRAWN):
            note_change(places)
    elif entry.placed_at is None:
        followers = Channel.objects.filter(follows__feed=entry.feed_id)
        channels = followers.only("reader", "filters").order_by("pk")
        # `lock_placing` keeps them from changing now.
        answers = [(channel, *asked.get(channel.pk, (None, False))) for channel in channels]
        if any(channel.filters != filters for channel, filters, _ in answers):
            return False
        at, is_unread = entry.sort_at or now, not entry.starts_read
        rows = [NewTimelineEntry(entry, channel, at, is_unread, filtered) for channel, _, filtered in answers]
        insert_timeline_entries(rows, now=now)
        if entry.link_hash:
            # Starred without its feed, by an import before the feed was read.
            alone = Star.objects.filter(entry__feed=None, entry__item=None, entry__link_hash=entry.link_hash)
            alone.filter(reader__channels__in=channels).update(entry=entry)
        entry.placed_at = now
    elif show_what_passes(TimelineEntry.objects.filter(entry=entry, hidden=Hidden.WITHDRAWN)):
        note_change(TimelineEntry.objects.filter(entry=entry))
    Entry.objects.filter(pk=entry.pk).update(placed_at=entry.placed_at, due_at=None)
    return True


def lock_placing() -> None:
    """Block other placing and changes of filters until the transaction ends."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [PLACING])


def arrival(now: datetime) -> datetime:
    """Return the time for places made in turn: streams follow it, so a clock set back does not count."""
    newest = TimelineEntry.objects.order_by("-pk").values_list("came_at", flat=True).first()
    return newest if newest and now < newest < now + SET_BACK_AT_MOST else now


def insert_timeline_entries(wanted: Sequence[NewTimelineEntry], *, now: datetime) -> None:
    """Put posts into channels that never had them. Their entries must be locked."""
    for some in batched(wanted, INSERTED_TOGETHER):
        authors, links = {row.entry.author_key for row in some}, {row.entry.link_hash for row in some}
        there = TimelineEntry.objects.filter(channel__in={row.channel.pk for row in some})
        known = set(there.filter(entry__in={row.entry.pk for row in some}).values_list("channel", "entry"))
        # The index of links lacks the empty one.
        linked = there.filter(entry__link_hash__in=links).exclude(entry__link_hash="")
        copied = set(linked.values_list("channel", "entry__link_hash"))
        mutes: dict[tuple[int, int | None, str], set[bool]] = defaultdict(set)
        muted = Mute.objects.filter(reader__in={row.channel.reader_id for row in some}, key__in=authors)
        for whose, where, key, is_block in muted.values_list("reader", "channel", "key", "is_block"):
            mutes[whose, where, key].add(is_block)
        new, unread = [], []
        for entry, channel, at, is_unread, is_filtered, hidden in some:
            pk, reader, author = channel.pk, channel.reader_id, entry.author_key
            if hidden is None:
                hidden = placement(
                    is_known=(pk, entry.pk) in known,
                    is_withdrawn=entry.withdrawn_at is not None,
                    mutes=mutes[reader, None, author] | mutes[reader, pk, author],
                    has_copy=bool(entry.link_hash) and (pk, entry.link_hash) in copied,
                    is_filtered=bool(channel.filters) if is_filtered is None else is_filtered,
                )
            if hidden is None:
                continue
            known.add((pk, entry.pk))
            copied.add((pk, entry.link_hash))
            is_seen = hidden == Hidden.SEEN
            shared: dict[str, Any] = {"channel_id": pk, "reader_id": reader, "at": at}
            state = {"came_at": now, "hidden": hidden, "was_unread": is_unread and not is_seen}
            new.append(TimelineEntry(**shared, **state, entry_id=entry.pk, feed_id=entry.feed_id))
            if is_unread and is_seen:
                unread.append(Unread(place=new[-1], **shared))
        TimelineEntry.objects.bulk_create(new)
        Unread.objects.bulk_create(unread)
