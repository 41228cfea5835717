"""When items are final, and what is a flood: more new posts than anybody writes at once."""

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

from feeds.rules.facts import Delays, Document, ItemRow

MINUTE = timedelta(minutes=1)
# Moved feeds, or ones that invent ids, show all posts as new.
MORE_THAN = 10
# Age of a cache's document.
CACHED_FOR = timedelta(hours=1)
# For feeds that show only their latest day.
BRIEF = timedelta(days=2)
# Some are weekly.
NEXT_BATCH = timedelta(days=8)
BATCH_GROWS = 3
# An import with new dates shortens their span at least so.
IMPORT_SHRINKS = 4
# Of fewer titles, "most" means nothing.
SEVERAL = 2
# Posts that left their feed; older ones are dropped.
HELD_AT_MOST = 1_000
FLOOD = "came in a flood that was not to be sent"
LEFT_WHILE_HELD = "left the feed while it was held"
# While held. Floods have none.
RESTORED = "held because a backup was restored"
# Once excluded.
NOT_AFTER_RESTORE = "was held after a restore and not to be sent"
SENT_ELSEWHERE = "held because another program may have sent it"
NOT_AFTER_MOVE = "was held after the move from another program and not to be sent"
# Posts may be dated this long before they appear.
SHOWN_LATE = timedelta(days=1)


def at_first_sight(delays: Delays) -> bool:
    """For feeds that ping."""
    return delays.min_delay_minutes <= 0 and delays.await_stabilization_minutes <= 0


def is_final(
    delays: Delays, *, first_seen: datetime, stable_since: datetime, moment: datetime, changed: bool
) -> bool:
    """Compare truncated minutes, strictly more (feedletter 0.2.5).

    `moment` is just before the request. If `changed`, only the longest delay counts.
    """
    seen = (moment - first_seen) // MINUTE
    stable = (moment - stable_since) // MINUTE
    settled = seen > delays.min_delay_minutes and stable > delays.await_stabilization_minutes
    return seen > delays.max_delay_minutes or (settled and not changed)


def is_flood(new: int, shown: int) -> bool:
    return new > MORE_THAN and 2 * new > shown


def follows_on(
    document: Document, formers: Iterable[ItemRow], *, shown_before: int, read_at: datetime | None
) -> bool:
    """Return whether a document without known posts continues the one before, of `read_at`.

    So do feeds that publish more than they show, or show only their latest day or post. A moved site would
    show old titles and dates; another site old, undated or fewer posts.
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


def is_batch_like_before(document: Document, formers: Collection[ItemRow], *, shown_before: int) -> bool:
    """Untitled posts may be old ones with new ids."""
    titled = sum(bool(entry.like.title) for entry in document.entries.values())
    if 2 * titled <= len(document.order):
        return False
    dates = _dates_after(document, formers)
    return len(document.order) <= BATCH_GROWS * shown_before and _is_next_batch(dates.values(), formers)


def is_mostly_older(document: Document, formers: Collection[ItemRow]) -> bool:
    newest = _newest(formers)
    dates = _dates_after(document, formers)
    dated = [(date, document.entries[id_].slack) for id_, date in dates.items() if date is not None]
    older = sum(newest is not None and date + slack < newest for date, slack in dated)
    return 2 * older > len(dated)


def _dates_after(document: Document, formers: Collection[ItemRow]) -> dict[str, datetime | None]:
    """A shared date means something if the last batch shared one, too."""
    is_brief = _span([former.published_at for former in formers if former.published_at]) <= BRIEF
    return document.published_since(_newest(formers) if is_brief else None)


def _newest(formers: Iterable[ItemRow]) -> datetime | None:
    return max((former.published_at for former in formers if former.published_at), default=None)


def _span(dates: Collection[datetime]) -> timedelta:
    return max(dates) - min(dates) if dates else timedelta(0)


def _is_next_batch(dates: Iterable[datetime | None], formers: Iterable[ItemRow]) -> bool:
    before = [former.published_at for former in formers if former.published_at]
    now = [date for date in dates if date is not None]
    if not before or not now or _span(before) > BRIEF:
        return False
    return timedelta(0) <= min(now) - max(before) <= NEXT_BATCH


def _shows_known_posts(document: Document, formers: Collection[ItemRow]) -> bool:
    """Return whether posts of the document before have other ids here.

    Serials repeat titles, so dates must match, unless all are an import's.
    """
    known: dict[str, set[datetime | None]] = {}
    for former in formers:
        known.setdefault(former.like.title, set()).add(former.published_at)
    entries = [entry for entry in document.entries.values() if entry.like.title]
    if any(known.get(entry.like.title, set()) & {None, entry.published} for entry in entries):
        return True
    here = Counter(entry.like.title for entry in entries)
    before = Counter(former.like.title for former in formers)
    again = sum(here[title] == before[title] == 1 for title in here)
    if len(entries) < SEVERAL or 2 * again <= len(entries):
        return False
    span = _span([entry.published for entry in entries if entry.published])
    span_before = _span([former.published_at for former in formers if former.published_at])
    return (not span and not span_before) or (span_before > BRIEF and IMPORT_SHRINKS * span < span_before)
