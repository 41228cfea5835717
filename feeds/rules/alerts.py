"""Permanent redirects, which count after several readings, as servers err."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal, Protocol
from urllib.parse import urlsplit

# RFC 9110 §15.4.
PERMANENT = frozenset({301, 308})
BELIEVED_AFTER = 5
# RFC 9110 §15.5.11. Wrong settings may answer 410 for an hour.
GONE_READINGS = 5
GONE_FOR = timedelta(days=1)
# Five readings must not take a week.
GONE_ASKED_EVERY = timedelta(hours=6)
# A cache may answer 304 forever.
ASKED_IN_FULL_EVERY = timedelta(days=8)
# A feed that has been silent for a year costs at most three full readings in two days.
PART_OF_SILENCE = 500
# One feed of an unreachable host; the others wait a day.
PROBED_EVERY = timedelta(hours=1)
PROBED_FOR = timedelta(days=14)
# From 502 on the server behind the gateway fails.
NO_SERVER = 502
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
    alerted_at, read_at = feed.alerted_at, feed.fetched_through
    return "recovered" if alerted_at and read_at and read_at > alerted_at else None


def is_nearly_due(feed: WatchedFeed, now: datetime) -> bool:
    return due(feed, now, after=A_DAY - ALONG) == "failing"


def may_tell(last_told: datetime | None, now: datetime) -> bool:
    return last_told is None or now - last_told >= GAP


def is_our_own_network(failing: int, watched: int) -> bool:
    return watched >= FEW_FEEDS and failing >= watched


def is_gone(readings: int, since: datetime | None, now: datetime) -> bool:
    return since is not None and readings >= GONE_READINGS and now - since >= GONE_FOR


def wants_all(sent_at: datetime, now: datetime, *, silent_since: datetime | None, read_at: datetime) -> bool:
    """Omit If-None-Match and If-Modified-Since: after a 304, unless the server is known to compare them.

    `silent_since`: the newest post's date, or None if it is known.
    """
    gap = ASKED_IN_FULL_EVERY
    if silent_since is not None and read_at > sent_at:
        gap = min((now - silent_since) / PART_OF_SILENCE, gap)
    return now - sent_at >= gap


def is_away(status: int | None, *, unreached: bool) -> bool:
    return unreached or (status is not None and status >= NO_SERVER)


def permanent_target(url: str, redirects: Sequence[tuple[int, str]]) -> str:
    """Never follow from https to http."""
    target = ""
    for status, to in redirects:
        if status not in PERMANENT:
            break
        target = to
    if urlsplit(url).scheme == "https" and urlsplit(target).scheme != "https":
        return ""
    return "" if target == url else target


def count_move(target: str, *, before: str, polls: int) -> tuple[str, int]:
    """Return the number of consecutive readings, too."""
    if not target:
        return "", 0
    return target, polls + 1 if target == before else 1


def is_believed(polls: int) -> bool:
    return polls >= BELIEVED_AFTER
