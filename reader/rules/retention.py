"""What is new to whoever begins to follow, and when a post is forgotten. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# Of a feed that is followed newly, so many posts are shown, and so many of the last month's count as unread.
BACKFILLED = 100
STARTING_UNREAD = 10
STILL_NEWS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Ages:
    """From when on a post that came into a channel before is forgotten there: one that is read, one that
    is not.
    """

    read: datetime
    unread: datetime


def ages(now: datetime, *, read_days: int, unread_days: int, keep_days: int | None) -> Ages:
    """`keep_days` are the channel's own, and count for both."""
    if keep_days is not None:
        return Ages(*(now - timedelta(days=keep_days),) * 2)
    return Ages(now - timedelta(days=read_days), now - timedelta(days=unread_days))


def starting_unread(dates: Sequence[datetime], now: datetime) -> int:
    """How many of a new feed's posts (their dates, newest first) count as unread."""
    return sum(now - date <= STILL_NEWS for date in dates[:STARTING_UNREAD])
