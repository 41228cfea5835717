from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# Of a newly followed feed: posts shown, and unread ones if still news.
BACKFILLED = 100
STARTING_UNREAD = 10
STILL_NEWS = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Ages:
    """Moments before which posts are forgotten."""

    read: datetime
    unread: datetime


def ages(now: datetime, *, read_days: int, unread_days: int, keep_days: int | None) -> Ages:
    """`keep_days` replaces both."""
    if keep_days is not None:
        return Ages(*(now - timedelta(days=keep_days),) * 2)
    return Ages(now - timedelta(days=read_days), now - timedelta(days=unread_days))


def starting_unread(dates: Sequence[datetime], now: datetime) -> int:
    """Expects dates newest first."""
    return sum(now - date <= STILL_NEWS for date in dates[:STARTING_UNREAD])
