"""Decides when an item is final, and what is a flood.

Final items were seen and stable long enough, or seen for very long. A flood is more new posts at once than
anybody writes; it is held until an admin has decided.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from feeds.rules.facts import Document
from feeds.rules.reposts import Former

MINUTE = timedelta(minutes=1)
# A feed that moved to another system or invents ids shows all posts as new.
MORE_THAN = 10
# A cache may still answer with a document this old.
CACHED_FOR = timedelta(hours=1)
# A feed that shows only its latest day has posts within this span, dated this long before they appear.
BRIEF = timedelta(days=2)
# The next batch of such a feed follows within this time, as some are weekly.
NEXT_BATCH = timedelta(days=8)
# Such a feed may grow by this factor without a question.
BATCH_GROWS = 3
# An import that renews dates shortens their span by at least this factor.
IMPORT_SHRINKS = 4
# "Most" means nothing for fewer titles.
SEVERAL = 2
# Held posts that may have left their feed. Beyond this the oldest are dropped.
HELD_AT_MOST = 1_000
FLOOD = "came in a flood that was not to be sent"
LEFT_WHILE_HELD = "left the feed while it was held"
# Reason of an item while it is held. Items of a flood have none.
RESTORED = "held because a backup was restored"
# Reason of such an item once excluded.
NOT_AFTER_RESTORE = "was held after a restore and not to be sent"
# The same for posts that a former program may have sent.
SENT_ELSEWHERE = "held because another program may have sent it"
NOT_AFTER_MOVE = "was held after the move from another program and not to be sent"
# A post not yet shown to the former program may be dated this long before its last look.
SHOWN_LATE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Timing:
    """A feed's delays, in whole minutes."""

    min_delay: int
    await_stabilization: int
    max_delay: int

    @property
    def at_first_sight(self) -> bool:
        """A feed that pings needs no delay."""
        return self.min_delay <= 0 and self.await_stabilization <= 0


def is_final(
    timing: Timing, *, first_seen: datetime, stable_since: datetime, moment: datetime, changed: bool
) -> bool:
    """Return whether the delays have passed: whole minutes, truncated, strictly more (feedletter 0.2.5).

    `moment` is the instant before the request. Content that changed at this reading is not stable, so only
    the longest delay counts.
    """
    seen = (moment - first_seen) // MINUTE
    stable = (moment - stable_since) // MINUTE
    settled = seen > timing.min_delay and stable > timing.await_stabilization
    return seen > timing.max_delay or (settled and not changed)


def is_flood(new: int, shown: int) -> bool:
    """Return whether `new` is more than 10 and more than half of `shown`."""
    return new > MORE_THAN and 2 * new > shown


def follows_on(
    document: Document, formers: Iterable[Former], *, shown_before: int, read_at: datetime | None
) -> bool:
    """Return whether a document without known posts plainly continues the one before.

    That is so for feeds that publish more than they show, or show only their latest day or post. A moved site
    would show old titles and dates; another site old posts, fewer, or undated ones. `formers`: posts of the
    document before, read at `read_at`.
    """
    formers = list(formers)
    entries = [document.entries.get(id_) for id_ in document.order]
    if any(entry is None for entry in entries):
        return False
    if _shows_known_posts(document, formers):
        return False
    if len(entries) == shown_before == 1:
        titles = {former.like.title for former in formers} - {""}
        if titles and all(entry and entry.like.title not in {"", *titles} for entry in entries):
            return True
    if read_at is None or 2 * len(entries) < shown_before:
        return False
    newest = _newest(formers)
    dates = _dates_after(document, formers)
    oldest = read_at - (BRIEF if _is_next_batch(dates.values(), formers) else CACHED_FOR)
    for id_, entry in document.entries.items():
        date = dates[id_]
        if date is None or (newest is not None and date < newest) or date + entry.slack < oldest:
            return False
    return True


def is_batch_like_before(document: Document, formers: Collection[Former], *, shown_before: int) -> bool:
    """Return whether a document that follows on has no more posts than usual.

    A feed of the latest day replaces all its posts. Without titles they may be old ones with new ids.
    """
    titled = sum(bool(entry.like.title) for entry in document.entries.values())
    if 2 * titled <= len(document.order):
        return False
    dates = _dates_after(document, formers)
    return len(document.order) <= BATCH_GROWS * shown_before and _is_next_batch(dates.values(), formers)


def is_mostly_older(document: Document, formers: Collection[Former]) -> bool:
    """Return whether most dates precede the newest one of the document before."""
    newest = _newest(formers)
    dates = _dates_after(document, formers)
    dated = [(date, document.entries[id_].slack) for id_, date in dates.items() if date is not None]
    older = sum(newest is not None and date + slack < newest for date, slack in dated)
    return 2 * older > len(dated)


def _dates_after(document: Document, formers: Collection[Former]) -> dict[str, datetime | None]:
    """Return the dates that mean something. A shared one does if the last batch shared one, too."""
    is_brief = _span([former.published for former in formers if former.published]) <= BRIEF
    return document.published_since(_newest(formers) if is_brief else None)


def _newest(formers: Iterable[Former]) -> datetime | None:
    return max((former.published for former in formers if former.published), default=None)


def _span(dates: Collection[datetime]) -> timedelta:
    return max(dates) - min(dates) if dates else timedelta(0)


def _is_next_batch(dates: Iterable[datetime | None], formers: Iterable[Former]) -> bool:
    before = [former.published for former in formers if former.published]
    now = [date for date in dates if date is not None]
    if not before or not now or _span(before) > BRIEF:
        return False
    return timedelta(0) <= min(now) - max(before) <= NEXT_BATCH


def _shows_known_posts(document: Document, formers: Collection[Former]) -> bool:
    """Return whether posts of the document before are in this one, under other ids.

    Serials repeat titles, so a title counts with its date. Most titles count if the dates come from an
    import: all at once, where they were spread out before.
    """
    known: dict[str, set[datetime | None]] = {}
    for former in formers:
        known.setdefault(former.like.title, set()).add(former.published)
    entries = [entry for entry in document.entries.values() if entry.like.title]
    if any(known.get(entry.like.title, set()) & {None, entry.published} for entry in entries):
        return True
    here = Counter(entry.like.title for entry in entries)
    before = Counter(former.like.title for former in formers)
    again = sum(here[title] == before[title] == 1 for title in here)
    if len(entries) < SEVERAL or 2 * again <= len(entries):
        return False
    span = _span([entry.published for entry in entries if entry.published])
    span_before = _span([former.published for former in formers if former.published])
    return (not span and not span_before) or (span_before > BRIEF and IMPORT_SHRINKS * span < span_before)
