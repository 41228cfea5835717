"""Now, asked in one place. Services take `now` as an argument; only edges call this.

Several machines share a database, and one reads the times that another one wrote: the end of a lease, when
something is due. So the database's clock counts. Each new connection to PostgreSQL measures it (`set_by`);
between two measurements it is carried on by this machine's uptime, a clock that nobody sets.
"""

import logging
import time
from datetime import UTC, datetime

from common.counters import count

log = logging.getLogger(__name__)

# Up to this difference, in seconds, a machine's own clock is used: a network delays by less.
TRUSTED = 0.5
# A difference, or a move, that is worth a warning.
WRONG = 2.0


class _Shared:
    """`since`: the database's time minus `uptime`; None before a measurement, and always with SQLite."""

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
    """The measurement, for a process of this machine that has no connection of Django's: see `take_over`."""
    return _Shared.since


def take_over(since: float | None) -> None:
    """Takes the measurement of another process of this machine."""
    _Shared.since = since


def uptime() -> float:
    """Seconds since the machine started, its sleep included: a clock that nobody sets."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Drift:
    """Notices that this machine's clock was set, by comparing it with the uptime, which cannot be set."""

    def __init__(self) -> None:
        self._difference = time.time() - uptime()

    def moved(self) -> float:
        """By how many seconds it was set since the last call; 0 for less than WRONG."""
        difference = time.time() - uptime()
        moved = difference - self._difference
        if abs(moved) < WRONG:
            return 0.0
        self._difference = difference
        return moved
