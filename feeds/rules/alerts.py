"""When the admins are told by mail: a feed has been failing for a day, it is gone, it can be read again."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

What = Literal["failing", "gone", "recovered"]

A_DAY = timedelta(days=1)
# Feeds that fail together do not begin to within one minute: who is nearly due is told along.
ALONG = timedelta(hours=2)
# Mails of one sort are not sent more often; what comes meanwhile goes together in the next.
GAP = timedelta(hours=3)
# So many feeds, if all that are watched fail, are not at fault themselves.
FEW = 3


@dataclass(frozen=True, slots=True)
class Trouble:
    """A feed's row. `read_at` is its last good reading; `gone`: the last answer was HTTP 410."""

    status: str
    failures: int
    failing_since: datetime | None
    alerted_at: datetime | None
    last_polled_at: datetime | None
    next_poll_at: datetime
    read_at: datetime | None = None
    gone: bool = False


def due(feed: Trouble, now: datetime, *, after: timedelta = A_DAY) -> What | None:
    """What the admins are to be told of the feed now. None: nothing, or they know.

    A reading that is overdue comes first: the service may have stood still, not the feed.
    """
    if feed.status == "stopped":
        return "gone" if feed.gone and not _knows_since(feed, feed.last_polled_at) else None
    if feed.status != "active":
        return None
    if feed.failures and feed.failing_since is not None:
        waits = feed.alerted_at is not None or feed.next_poll_at <= now
        return "failing" if not waits and now - feed.failing_since >= after else None
    if feed.alerted_at is not None and feed.read_at is not None and feed.read_at > feed.alerted_at:
        return "recovered"
    return None


def is_nearly_due(feed: Trouble, now: datetime) -> bool:
    """Whether it is told along with another one that has been failing for a day."""
    return due(feed, now, after=A_DAY - ALONG) == "failing"


def _knows_since(feed: Trouble, moment: datetime | None) -> bool:
    return feed.alerted_at is not None and (moment is None or feed.alerted_at >= moment)


def may_tell(last_told: datetime | None, now: datetime) -> bool:
    """Whether the last mail of this sort is long enough ago."""
    return last_told is None or now - last_told >= GAP


def is_our_own_network(failing: int, watched: int) -> bool:
    """Whether all feeds fail, and there are enough of them to look nearer home."""
    return watched >= FEW and failing >= watched
