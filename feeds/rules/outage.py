"""Answers that are believed only when they hold, and how a host that was away is found again."""

from datetime import datetime, timedelta

# RFC 9110, 15.5.11: 410 says for good what a wrong setting or a move may say for an hour.
GONE_READINGS = 5
GONE_FOR = timedelta(days=1)
# Asked so often, five readings do not take a week.
GONE_ASKED_EVERY = timedelta(hours=6)

# A cache that answers 304 for ever would hide every new post.
ASKED_IN_FULL_EVERY = timedelta(days=8)

# A host that does not answer is tried so often by one of its feeds, while the others wait for a day.
PROBED_EVERY = timedelta(hours=1)
# A host that was away for longer is not expected back from hour to hour.
PROBED_FOR = timedelta(days=14)
# A server's other errors may be about one address only; from 502 on, what stands behind the server fails.
NO_SERVER = 502


def is_gone(readings: int, since: datetime | None, now: datetime) -> bool:
    """Whether a server that has answered 410 so often in a row, first at `since`, is believed."""
    return since is not None and readings >= GONE_READINGS and now - since >= GONE_FOR


def wants_all(asked_in_full: datetime | None, now: datetime) -> bool:
    """Whether the next request goes without conditions (If-None-Match, If-Modified-Since)."""
    return asked_in_full is not None and now - asked_in_full >= ASKED_IN_FULL_EVERY


def is_away(status: int | None, *, unreached: bool) -> bool:
    """Whether a failure is the host's, not the feed's: nobody there, or a gateway without its server."""
    return unreached or (status is not None and status >= NO_SERVER)


def is_probed(failing_since: datetime, now: datetime) -> bool:
    """Whether a host is tried every hour still."""
    return now - failing_since < PROBED_FOR
