"""How long to leave a server alone: what it asked for, and what its refusals mean."""

from datetime import datetime, timedelta

from feeds.rules.freshness import moment_of

# Who answers so does not want to be asked again soon; others may be back within minutes.
KEEP_AWAY = frozenset({403, 429})
KEPT_AWAY_FOR = timedelta(hours=1)
# Nobody gets to silence a feed for good.
LONGEST_WAIT = timedelta(days=7)
TOO_MANY = 429
HOST_RESTS = timedelta(minutes=1)
HOST_RESTS_AT_MOST = timedelta(hours=1)


def retry_at(header: str, now: datetime) -> datetime | None:
    """The moment that a Retry-After names: seconds or an HTTP date (RFC 9110, 10.2.3). None if it is neither.

    At most a week after `now`, and never before it.
    """
    text = header.strip()
    if text.isascii() and text.isdigit():
        return now + min(timedelta(seconds=int(text[:9])), LONGEST_WAIT)
    named = moment_of(text)
    return min(max(named, now), now + LONGEST_WAIT) if named else None


def first_pause(status: int | None, interval: timedelta) -> timedelta:
    """The pause after the first failure: the feed's interval, but hours of it for who keeps us away."""
    return max(interval, KEPT_AWAY_FOR) if status in KEEP_AWAY else interval


def host_rests_until(status: int | None, retry_after: str, now: datetime) -> datetime | None:
    """When a host that says we ask too often (RFC 6585) may be asked for any of its feeds again."""
    if status != TOO_MANY:
        return None
    wish = retry_at(retry_after, now) or now + HOST_RESTS
    return min(max(wish, now + HOST_RESTS), now + HOST_RESTS_AT_MOST)
