from datetime import datetime, timedelta

# RFC 9110 §15.5.11. Wrong settings may answer 410 for an hour.
GONE_READINGS = 5
GONE_FOR = timedelta(days=1)
# Five readings must not take a week.
GONE_ASKED_EVERY = timedelta(hours=6)

# A cache may answer 304 forever.
ASKED_IN_FULL_EVERY = timedelta(days=8)

# One feed of an unreachable host; the others wait a day.
PROBED_EVERY = timedelta(hours=1)
PROBED_FOR = timedelta(days=14)
# From 502 on the server behind the gateway fails.
NO_SERVER = 502


def is_gone(readings: int, since: datetime | None, now: datetime) -> bool:
    return since is not None and readings >= GONE_READINGS and now - since >= GONE_FOR


def wants_all(asked_in_full: datetime | None, now: datetime) -> bool:
    """Omit If-None-Match and If-Modified-Since."""
    return asked_in_full is not None and now - asked_in_full >= ASKED_IN_FULL_EVERY


def is_away(status: int | None, *, unreached: bool) -> bool:
    return unreached or (status is not None and status >= NO_SERVER)


def is_probed(failing_since: datetime, now: datetime) -> bool:
    return now - failing_since < PROBED_FOR
