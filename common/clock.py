"""Now, asked in one place. Services take `now` as an argument; only edges call this.

Several machines share a database, and what one wrote of a time another one reads: a lease, when something is
due. So it is the database's clock that counts. Each new connection to PostgreSQL measures it (`set_by`), and
between two measurements it is carried on by the clock that nobody sets.
"""

import logging
import time
from datetime import UTC, datetime

from common.counters import count

log = logging.getLogger(__name__)

# Up to this difference, in seconds, a machine's own clock is used: more comes from no network.
TRUSTED = 0.5
# A difference, or a move, worth telling of.
WRONG = 2.0


class _Shared:
    """The database's time minus `uptime`; None while nobody measured it (SQLite: it is this machine's)."""

    since: float | None = None
    is_told: bool = False


def utcnow() -> datetime:
    """The database's time where that is known, else this machine's."""
    if abs(behind()) <= TRUSTED:
        return datetime.now(UTC)
    return datetime.fromtimestamp(uptime() + (_Shared.since or 0.0), UTC)


def behind() -> float:
    """How many seconds this machine's clock is behind the database's; negative when it is ahead."""
    return 0.0 if _Shared.since is None else uptime() + _Shared.since - time.time()


def set_by(database_time: float, *, at: float) -> None:
    """The database's clock showed this (seconds since the epoch) when `uptime` showed that."""
    _Shared.since = database_time - at
    is_wrong = abs(behind()) >= WRONG
    if is_wrong and not _Shared.is_told:
        count("trouble", "clock_wrong")
        log.warning(
            "This machine's clock is %.0f seconds %s the database's, which is used instead.",
            abs(behind()),
            "behind" if behind() > 0 else "ahead of",
        )
    elif _Shared.is_told and not is_wrong:
        log.warning("This machine's clock is right again.")
    _Shared.is_told = is_wrong


def since() -> float | None:
    """For another process of this machine, which has no connection of Django's: see `take_over`."""
    return _Shared.since


def take_over(since: float | None) -> None:
    """Another process of this machine measured it."""
    _Shared.since = since


def uptime() -> float:
    """Seconds since the machine started, its sleep included: a clock that nobody sets."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Drift:
    """Notices that the clock on the wall was moved, by the clock that cannot be."""

    def __init__(self) -> None:
        self._difference = time.time() - uptime()

    def moved(self) -> float:
        """By how many seconds since it was asked last; 0 if by less than WRONG."""
        difference = time.time() - uptime()
        moved = difference - self._difference
        if abs(moved) < WRONG:
            return 0.0
        self._difference = difference
        return moved
