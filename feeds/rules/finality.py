"""When an item is final: seen long enough and stable long enough, or seen for too long; and never in a flood.

A flood is more new posts at once than anybody writes. They are held until an admin has had a look.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from feeds.rules.facts import Document
from feeds.rules.reposts import Former

MINUTE = timedelta(minutes=1)
# A feed that was moved to another system, or one that makes up new ids, shows all it has as new.
MORE_THAN = 10
# A cache may still answer with a document that is so old.
CACHED_FOR = timedelta(hours=1)
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

    A feed does so if it publishes more between two readings than it shows, or shows only its latest post.
    `formers` are the posts of the document before, and `read_at` is when that was read last. A site that
    moved would show titles that were there before. Another site would show posts from long before, fewer
    posts, or posts without dates.
    """
    formers = list(formers)
    titles = {former.like.title for former in formers if former.like.title}
    if any(entry.like.title in titles for entry in document.entries.values()):
        return False
    if len(document.order) == shown_before == 1 and titles:
        return all(entry.like.title for entry in document.entries.values())
    if read_at is None or 2 * len(document.order) < shown_before:
        return False
    newest = max((former.published for former in formers if former.published), default=None)
    dates = document.published
    for id_ in document.order:
        entry, date = document.entries.get(id_), dates.get(id_)
        if entry is None or date is None or (newest is not None and date < newest):
            return False
        if date + entry.slack < read_at - CACHED_FOR:
            return False
    return True
