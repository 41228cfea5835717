from collections.abc import Sequence
from datetime import datetime, timedelta

# Of a newly followed feed: posts shown, and unread ones if still news.
BACKFILLED = 100
STARTING_UNREAD = 10
STILL_NEWS = timedelta(days=30)


def kept_since(
    now: datetime, *, read_days: int, unread_days: int, keep_days: int | None
) -> tuple[datetime, datetime]:
    """Return the moments before which read and unread posts are forgotten. `keep_days` replaces both."""
    if keep_days is not None:
        read_days = unread_days = keep_days
    return now - timedelta(days=read_days), now - timedelta(days=unread_days)


def starting_unread(dates: Sequence[datetime], now: datetime) -> int:
    """Expects dates newest first."""
    return sum(now - date <= STILL_NEWS for date in dates[:STARTING_UNREAD])
