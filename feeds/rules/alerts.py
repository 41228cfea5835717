from datetime import datetime, timedelta
from typing import Literal, Protocol

What = Literal["failing", "gone", "recovered"]

A_DAY = timedelta(days=1)
# Feeds that fail together do not start within a minute.
ALONG = timedelta(hours=2)
# Between two mails of one kind.
GAP = timedelta(hours=3)
# If all of this many feeds fail, the fault is ours.
FEW_FEEDS = 3


class WatchedFeed(Protocol):
    status: str
    failures: int
    failing_since: datetime | None
    alerted_at: datetime | None
    last_polled_at: datetime | None
    next_poll_at: datetime
    fetched_through: datetime | None


def due(feed: WatchedFeed, now: datetime, *, is_gone: bool = False, after: timedelta = A_DAY) -> What | None:
    """Return None if a reading is overdue: the service may have been stopped.

    `is_gone`: the last answer was HTTP 410.
    """
    if feed.status == "stopped":
        told_since = feed.last_polled_at
        knows = feed.alerted_at is not None and (told_since is None or feed.alerted_at >= told_since)
        return "gone" if is_gone and not knows else None
    if feed.status != "active":
        return None
    if feed.failures and feed.failing_since is not None:
        waits = feed.alerted_at is not None or feed.next_poll_at <= now
        return "failing" if not waits and now - feed.failing_since >= after else None
    if (
        feed.alerted_at is not None
        and feed.fetched_through is not None
        and feed.fetched_through > feed.alerted_at
    ):
        return "recovered"
    return None


def is_nearly_due(feed: WatchedFeed, now: datetime) -> bool:
    return due(feed, now, after=A_DAY - ALONG) == "failing"


def may_tell(last_told: datetime | None, now: datetime) -> bool:
    return last_told is None or now - last_told >= GAP


def is_our_own_network(failing: int, watched: int) -> bool:
    return watched >= FEW_FEEDS and failing >= watched
