from datetime import datetime, timedelta

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
