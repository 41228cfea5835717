"""When an item is final: seen long enough and stable long enough, or seen for too long; and never in a flood.

A flood is more new posts at once than anybody writes. They are held until an admin has had a look.
"""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from feeds.rules.facts import Document
from feeds.rules.reposts import Former

MINUTE = timedelta(minutes=1)
# A feed that was moved to another system, or one that makes up new ids, shows all it has as new.
MORE_THAN = 10
# A cache may still answer with a document that is so old.
CACHED_FOR = timedelta(hours=1)
# The posts of a feed that shows only its latest day came out within this time, and may be dated so long
# before they appear.
BRIEF = timedelta(days=2)
# The next posts of such a feed follow within this time: some are weekly.
NEXT_BATCH = timedelta(days=8)
# Such a feed may show so many times as many posts as before without asking.
BATCH_GROWS = 3
# An import that gives posts new dates makes their span at least so many times shorter.
IMPORT_SHRINKS = 4
# Of fewer titles "most" says nothing.
SEVERAL = 2
# How many held posts may have left their feed meanwhile: if there are more, the oldest are dropped.
HELD_AT_MOST = 1_000
FLOOD = "came in a flood that was not to be sent"
LEFT_WHILE_HELD = "left the feed while it was held"
# The reason of an item while it is held; it has none when it came in a flood.
RESTORED = "held because a backup was restored"
# The reason of such an item when it is excluded.
NOT_AFTER_RESTORE = "was held after a restore and not to be sent"
# The same for posts that another program, which read the feed before us, may have sent.
SENT_ELSEWHERE = "held because another program may have sent it"
NOT_AFTER_MOVE = "was held after the move from another program and not to be sent"
# So long before that program's last look a post may be dated that it had not shown yet.
SHOWN_LATE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Timing:
    """A feed's delays, in whole minutes."""

    min_delay: int
    await_stabilization: int
    max_delay: int

    @property
    def at_first_sight(self) -> bool:
        """A feed that pings: nothing is waited for."""
        return self.min_delay <= 0 and self.await_stabilization <= 0


def is_final(
    timing: Timing, *, first_seen: datetime, stable_since: datetime, moment: datetime, changed: bool
) -> bool:
    """Whole minutes, truncated, strictly more (feedletter 0.2.5).

    `moment` is the instant before the request that saw the item; a content that changed at this very
    poll is not stable, so only the longest delay counts for it.
    """
    seen = (moment - first_seen) // MINUTE
    stable = (moment - stable_since) // MINUTE
    settled = seen > timing.min_delay and stable > timing.await_stabilization
    return seen > timing.max_delay or (settled and not changed)


def is_flood(new: int, shown: int) -> bool:
    """Whether `new` of the `shown` posts of a document are too many: more than 10, and more than half."""
    return new > MORE_THAN and 2 * new > shown


def follows_on(
    document: Document, formers: Iterable[Former], *, shown_before: int, read_at: datetime | None
) -> bool:
    """Whether a document without a known post plainly continues the one before.

    A feed does so if it publishes more between two readings than it shows, or shows only its latest day or
    its latest post. `formers` are the posts of the document before, and `read_at` is when that was read last.
    A site that moved would show titles that were there before, with their dates. Another site would show
    posts from long before, fewer posts, or posts without dates.
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
    """Whether a document that follows on has no more posts than its feed is used to show at once.

    A feed that shows only its latest day replaces all of its posts. That is no flood, however many they are.
    Without titles nothing shows that they are not the posts of before under other ids.
    """
    titled = sum(bool(entry.like.title) for entry in document.entries.values())
    if 2 * titled <= len(document.order):
        return False
    dates = _dates_after(document, formers)
    return len(document.order) <= BATCH_GROWS * shown_before and _is_next_batch(dates.values(), formers)


def is_mostly_older(document: Document, formers: Collection[Former]) -> bool:
    """Whether most dates of a document are before the newest one of the document before."""
    newest = _newest(formers)
    dates = _dates_after(document, formers)
    dated = [(date, document.entries[id_].slack) for id_, date in dates.items() if date is not None]
    older = sum(newest is not None and date + slack < newest for date, slack in dated)
    return 2 * older > len(dated)


def _dates_after(document: Document, formers: Collection[Former]) -> dict[str, datetime | None]:
    """Return the dates that say something; one for all does if those before came out together, too."""
    is_brief = _span([former.published for former in formers if former.published]) <= BRIEF
    return document.published_since(_newest(formers) if is_brief else None)


def _newest(formers: Iterable[Former]) -> datetime | None:
    return max((former.published for former in formers if former.published), default=None)


def _span(dates: Collection[datetime]) -> timedelta:
    return max(dates) - min(dates) if dates else timedelta(0)


def _is_next_batch(dates: Iterable[datetime | None], formers: Iterable[Former]) -> bool:
    """Whether the posts before came out in a short time, and all of these `dates` soon after them."""
    before = [former.published for former in formers if former.published]
    now = [date for date in dates if date is not None]
    if not before or not now or _span(before) > BRIEF:
        return False
    return timedelta(0) <= min(now) - max(before) <= NEXT_BATCH


def _shows_known_posts(document: Document, formers: Collection[Former]) -> bool:
    """Whether posts of the document before stand in this one, under other ids.

    A title alone shows nothing: serials use theirs again. It does together with its date. So do most titles,
    when the dates look like those of an import or a build: all at once, where they were spread out before.
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
