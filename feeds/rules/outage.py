"""Answers that count only when repeated, and how to notice that a host is back."""

from datetime import datetime, timedelta

# RFC 9110 §15.5.11. A wrong setting or a move may also answer 410 for an hour.
GONE_READINGS = 5
GONE_FOR = timedelta(days=1)
# So that five readings do not take a week.
GONE_ASKED_EVERY = timedelta(hours=6)

# A cache that always answers 304 would hide every new post.
ASKED_IN_FULL_EVERY = timedelta(days=8)

# One feed of an unreachable host is tried this often while the others wait a day.
PROBED_EVERY = timedelta(hours=1)
# Beyond this, the host is not expected back within hours.
PROBED_FOR = timedelta(days=14)
# Errors below may concern one address. From 502 on the server behind the gateway fails.
NO_SERVER = 502


def is_gone(readings: int, since: datetime | None, now: datetime) -> bool:
    """Return whether repeated 410 answers are believed."""
    return since is not None and readings >= GONE_READINGS and now - since >= GONE_FOR


def wants_all(asked_in_full: datetime | None, now: datetime) -> bool:
    """Return whether the next request omits If-None-Match and If-Modified-Since."""
    return asked_in_full is not None and now - asked_in_full >= ASKED_IN_FULL_EVERY


def is_away(status: int | None, *, unreached: bool) -> bool:
    """Return whether the failure is the host's: unreachable, or a gateway without its server."""
    return unreached or (status is not None and status >= NO_SERVER)


def is_probed(failing_since: datetime, now: datetime) -> bool:
    return now - failing_since < PROBED_FOR
