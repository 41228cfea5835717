"""How long to leave a server alone: what it asked for, and what its refusals mean."""

from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

# Who answers so does not want to be asked again soon; others may be back within minutes.
KEEP_AWAY = frozenset({403, 429})
KEPT_AWAY_FOR = timedelta(hours=1)
# Nobody gets to silence a feed for good.
LONGEST_WAIT = timedelta(days=7)


def retry_at(header: str, now: datetime) -> datetime | None:
    """The moment that a Retry-After names: seconds or an HTTP date (RFC 9110, 10.2.3). None if it is neither.

    At most a week after `now`, and never before it.
    """
    text = header.strip()
    if text.isascii() and text.isdigit():
        return now + min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    try:
        named = parsedate_to_datetime(text)
    except (ValueError, OverflowError, TypeError, IndexError):
        return None
    aware = named if named.tzinfo else named.replace(tzinfo=UTC)
    return min(max(aware, now), now + LONGEST_WAIT)


def first_pause(status: int | None, interval: timedelta) -> timedelta:
    """The pause after the first failure: the feed's interval, but hours of it for who keeps us away."""
    return max(interval, KEPT_AWAY_FOR) if status in KEEP_AWAY else interval
