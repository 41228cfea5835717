"""Current time. Services take `now` as an argument; only edges call `utcnow`.

Machines read each other's times (leases, due times), so the database's clock counts. Each new connection to
PostgreSQL measures it (`set_by`); in between, the uptime carries it on.

Time zones in English.
"""

import logging
import re
import time
from datetime import UTC, datetime
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from common.counters import count

_UTC_NAMES = frozenset({"UTC", "UCT", "Universal", "Zulu", "GMT", "GMT0", "GMT+0", "GMT-0", "Greenwich"})
_FIXED = re.compile(r"GMT([+-])(\d+)")
log = logging.getLogger(__name__)
# Seconds. Network delays are smaller, so below it the machine's clock is used.
TRUSTED = 0.5
# Seconds of difference that cause a warning.
WRONG = 2.0


class _Shared:
    """`since` is the database's time minus `uptime`; None with SQLite."""

    since: float | None = None
    is_told: bool = False


def utcnow() -> datetime:
    if abs(behind()) <= TRUSTED:
        return datetime.now(UTC)
    return datetime.fromtimestamp(uptime() + (_Shared.since or 0.0), UTC)


def behind() -> float:
    """Return seconds; negative if this machine's clock is ahead."""
    return 0.0 if _Shared.since is None else uptime() + _Shared.since - time.time()


def set_by(database_time: float, *, at: float) -> None:
    """Record the database's time (Unix seconds) at the uptime `at`."""
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
    """Return the measurement, for `take_over` in a process without a connection."""
    return _Shared.since


def take_over(since: float | None) -> None:
    _Shared.since = since


def uptime() -> float:
    """Return seconds since boot, including sleep. Unlike the time, it cannot be set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Drift:
    def __init__(self) -> None:
        self._difference = time.time() - uptime()

    def moved(self) -> float:
        """Return seconds by which the clock was set since the last call; 0 below WRONG."""
        difference = time.time() - uptime()
        moved = difference - self._difference
        if abs(moved) < WRONG:
            return 0.0
        self._difference = difference
        return moved


@cache
def zone_names() -> frozenset[str]:
    # ZoneInfo(name) accepts "right/UTC" (with leap seconds) and raises OSError for "America".
    return frozenset(available_timezones())


def zone_words(zone: ZoneInfo) -> str:
    """Return "New York time", "UTC" or "UTC+3"."""
    place = place_of(zone)
    return f"{place} time" if place else offset_words(zone)


def place_of(zone: ZoneInfo) -> str:
    """Return "New York", or "" for UTC and fixed offsets."""
    name = str(zone).rpartition("/")[2]
    is_counted = name in _UTC_NAMES or _FIXED.fullmatch(name)
    return "" if is_counted else name.replace("_", " ")


def offset_words(zone: ZoneInfo) -> str:
    # Etc/GMT-3 is three hours ahead.
    fixed = _FIXED.fullmatch(str(zone).rpartition("/")[2])
    return f"UTC{'-' if fixed[1] == '+' else '+'}{fixed[2]}" if fixed else "UTC"
