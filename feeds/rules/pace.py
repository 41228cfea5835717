import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Protocol

from common.formats.written_dates import mail_date
from feeds.parsing.entry import Channel

AT_MOST_EVERY = timedelta(minutes=1)
HOUR = timedelta(hours=1)
WARM_UP = timedelta(days=1)
# Per usual gap.
READINGS_PER_POST = 4
JITTER = 0.1
LONGEST_FRESHNESS = timedelta(days=365)
# A Date further off is an old answer's.
WRONGEST_CLOCK = timedelta(days=3)
_DIRECTIVE = re.compile(r"([a-z-]+)\s*(?:=\s*\"?([^\",]*)\"?)?", re.IGNORECASE)
# Others may be back within minutes.
KEEP_AWAY = frozenset({403, 429})
KEPT_AWAY_FOR = timedelta(hours=1)
# No server may silence a feed for good, or for days at once.
LONGEST_RETRY_AFTER = timedelta(days=7)
BELIEVED_AT_ONCE = timedelta(days=1)
HOST_RESTS = timedelta(minutes=1)
HOST_RESTS_AT_MOST = timedelta(hours=1)


class PacedFeed(Protocol):
    """An interval of zero means a feed that pings."""

    added_at: datetime
    recheck_every_minutes: int
    ceiling_minutes: int
    pace: str
    rhythm_minutes: int | None


def shortest_pause(feed: PacedFeed) -> timedelta:
    return max(timedelta(minutes=feed.recheck_every_minutes), AT_MOST_EVERY)


def longest_pause(feed: PacedFeed) -> timedelta:
    return max(shortest_pause(feed), timedelta(minutes=feed.ceiling_minutes))


def next_poll(
    feed: PacedFeed,
    channel: Channel,
    now: datetime,
    *,
    fresh_for: timedelta = timedelta(0),
    settling: bool = False,
    hub_is_live: bool = False,
    chance: float = 0.0,
) -> tuple[datetime, str]:
    """Return when, and why: a key of `feeds.rules.item_status`.

    `chance` in [0, 1) shortens the pause by up to a tenth, to spread feeds.
    """
    shortest, longest = shortest_pause(feed), longest_pause(feed)
    if settling or not feed.recheck_every_minutes:
        return now + shortest, "settling" if settling else "interval"
    if feed.pace != "adaptive":
        length, why = shortest, "interval"
    elif now - feed.added_at < WARM_UP:
        length, why = shortest, "warm_up"
    else:
        rhythm = feed.rhythm_minutes
        wanted = longest if rhythm is None else timedelta(minutes=rhythm) / READINGS_PER_POST
        length, why = min(max(wanted, shortest), longest), "rhythm"
    if hub_is_live and longest > length:
        length, why = longest, "hub"
    if why != "interval":
        length = max(length * (1 - JITTER * chance), shortest)
    for wish, name in ((fresh_for, "cache"), (timedelta(minutes=channel.ttl or 0), "ttl")):
        if min(wish, longest) > length:
            length, why = min(wish, longest), name
    # RSS 2.0.
    planned, latest = now + length, now + longest
    at = planned
    for _ in range(8 * 24):
        if at >= latest or not (at.hour in channel.skip_hours or at.weekday() in channel.skip_days):
            break
        at = at.replace(minute=0, second=0, microsecond=0) + HOUR
    return (planned, why) if at == planned else (min(at, latest), "skip")


def fresh_for(headers: Mapping[str, str], now: datetime) -> timedelta:
    """Return how much longer the answer is fresh. Header names are in lower case.

    max-age precedes Expires (RFC 9111 §5.3).
    """
    cache_control = directives(headers.get("cache-control", ""))
    if "no-cache" in cache_control or "no-store" in cache_control:
        return timedelta(0)
    if "max-age" in cache_control:
        lifetime = _seconds(cache_control["max-age"])
    else:
        expires, sent = mail_date(headers.get("expires", "")), mail_date(headers.get("date", ""))
        # By the server's clock.
        lifetime = min(expires - (sent or now), LONGEST_FRESHNESS) if expires else timedelta(0)
    age = _seconds(headers.get("age", ""))
    return max(lifetime - age, timedelta(0))


def directives(header: str) -> dict[str, str]:
    """Keep the first of duplicates."""
    values: dict[str, str] = {}
    for match in _DIRECTIVE.finditer(header[:1000]):
        values.setdefault(match.group(1).lower(), (match.group(2) or "").strip())
    return values


def behind(headers: Mapping[str, str], now: datetime) -> timedelta:
    """Return the lag of the server's clock. Age: RFC 9111 §5.1."""
    sent = mail_date(headers.get("date", ""))
    lag = now - sent - _seconds(headers.get("age", "")) if sent else timedelta(0)
    return lag if abs(lag) <= WRONGEST_CLOCK else timedelta(0)


def _seconds(text: str) -> timedelta:
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit()):
        return timedelta(0)
    return min(timedelta(seconds=int(digits[:9])), LONGEST_FRESHNESS)


def retry_at(header: str, now: datetime) -> datetime | None:
    """RFC 9110 §10.2.3, at most a week ahead."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return now + min(timedelta(seconds=int(text[:9])), LONGEST_RETRY_AFTER)
    named = mail_date(text)
    return min(max(named, now), now + LONGEST_RETRY_AFTER) if named else None


def longest_wish(waited: timedelta) -> timedelta:
    return min(max(BELIEVED_AT_ONCE, 2 * waited), LONGEST_RETRY_AFTER)


def first_pause(status: int | None, interval: timedelta) -> timedelta:
    return max(interval, KEPT_AWAY_FOR) if status in KEEP_AWAY else interval


def host_rests_until(status: int | None, retry_after: str, now: datetime) -> datetime | None:
    """RFC 6585: 429."""
    if status != HTTPStatus.TOO_MANY_REQUESTS:
        return None
    wish = retry_at(retry_after, now) or now + HOST_RESTS
    return min(max(wish, now + HOST_RESTS), now + HOST_RESTS_AT_MOST)
