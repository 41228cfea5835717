"""Fetches sources of webmentions, and notifies readers. Rows are the queue."""

import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin

from django.db import transaction

from common.clock import utcnow
from common.db.leases import RELEASED, lease
from common.passes import TimeBudget
from common.shutdown import stopping
from feeds.addresses import host_of_url
from feeds.parsing.entry import Entry as Post
from feeds.parsing.entry import Person
from reader.channels.filters import mutes_in
from reader.entries.place import NewTimelineEntry, arrival, insert_timeline_entries, lock_placing
from reader.entries.take import said_by
from reader.entries.visibility import hide
from reader.mentions.look import Look, look_at
from reader.models import Channel, Entry, Mention, TimelineEntry
from reader.rules.jf2 import author_key
from reader.rules.mentions import next_look

log = logging.getLogger(__name__)

# Five seconds of network, twenty of CPU.
LOOK_LEASE = timedelta(seconds=60)
LOOKS_AT_ONCE = 4
BLOCKED = "The author or the site is blocked."
UNREADABLE = "Reading the source failed with an unexpected error."


def check_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> int:
    left, done = TimeBudget(budget), 0
    with ThreadPoolExecutor(LOOKS_AT_ONCE, thread_name_prefix="mentions") as pool:
        while not left.is_spent and not stopping.is_set():
            rows = claimed_mentions(clock())
            if not rows:
                break
            for row, look in zip(rows, pool.map(_looked, rows), strict=True):
                record_look(mention=row, look=look, now=clock())
            done += len(rows)
    return done


@transaction.atomic
def claimed_mentions(now: datetime) -> list[Mention]:
    due = Mention.objects.due(now).order_by("due_at", "pk")
    rows = list(due.select_for_update(skip_locked=True)[:LOOKS_AT_ONCE])
    token, until = lease(now, LOOK_LEASE)
    for row in rows:
        row.lease_token, row.lease_until = token, until
        row.attempts += 1
        row.save(update_fields=["lease_token", "lease_until", "attempts"])
    return rows


def _looked(row: Mention) -> Look:
    try:
        return look_at(row.source, row.target)
    except Exception:
        log.exception("could not read a mention", extra={"mention": row.pk})
        return Look(problem=UNREADABLE, is_later=True)


@transaction.atomic
def record_look(*, mention: Mention, look: Look, now: datetime) -> None:
    lock_placing()
    now = arrival(now)
    ours = Mention.objects.filter(pk=mention.pk, lease_token=mention.lease_token)
    row = ours.select_for_update().first()
    if row is None:
        # Another worker has it, or the reader is gone.
        return
    changes: dict[str, Any] = {"problem": look.problem, "checked_at": now, **RELEASED}
    again = next_look(row.attempts) if look.is_later else None
    # A mention sent meanwhile has its own time.
    if row.due_at == mention.due_at:
        changes["due_at"] = now + again if again else None
    if again is None:
        changes["attempts"] = 0
    if look.entry is not None:
        changes |= _shown(row, look.entry, look.kind, now)
    elif look.is_gone and row.entry_id is not None:
        Entry.objects.filter(pk=row.entry_id, withdrawn_at=None).update(withdrawn_at=now, due_at=now)
    Mention.objects.filter(pk=row.pk).update(**changes)


def _shown(mention: Mention, post: Post, kind: str, now: datetime) -> dict[str, Any]:
    """Show the post in the notifications; return changes of the mention."""
    site = Person(host_of_url(mention.source), urljoin(mention.source, "/"))
    entry = Entry.objects.select_for_update().filter(mention=mention).first()
    columns = {**said_by(post, site, entry.seen_at if entry else now), "kind": kind}
    channel = Channel.objects.get(reader=mention.reader_id, is_notifications=True)
    is_block = mutes_in(channel)
    # A blocked site includes its authors.
    blocked = any(is_block.get(key) for key in (columns["author_key"], author_key(site.url)))
    if entry is None:
        return {"problem": BLOCKED} if blocked else {"entry": show_mention(channel, columns, now)}
    places = TimelineEntry.objects.filter(entry=entry)
    if blocked or columns["author_key"] in is_block:
        hide(places, TimelineEntry.Hidden.REMOVED if blocked else TimelineEntry.Hidden.MUTED)
    if entry.jf2 is not None and not blocked:
        Entry.objects.filter(pk=entry.pk).exclude(hash=columns["hash"]).update(**columns)
    if entry.withdrawn_at is not None:
        Entry.objects.filter(pk=entry.pk).update(withdrawn_at=None, due_at=now)
    return {}


def show_mention(
    channel: Channel,
    columns: dict[str, Any],
    now: datetime,
    *,
    at: datetime | None = None,
    is_unread: bool = True,
) -> Entry:
    """Insert the post into the notifications, by default at `now`."""
    at = at or now
    entry: Entry = Entry.objects.create(seen_at=at, placed_at=now, **columns)
    # A post that mentions two pages is shown once.
    insert_timeline_entries([NewTimelineEntry(entry, channel, at, is_unread)], now=now)
    return entry
