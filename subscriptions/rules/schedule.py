"""Cron lines fire on the wall clock, then become instants."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import chain, islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

PERIODIC = frozenset({"daily", "weekly", "monthly", "cron"})
# Scheduling fields of each arrangement.
ARRANGEMENTS: Mapping[str, frozenset[str]] = {
    "each": frozenset(),
    "daily": frozenset({"at"}),
    "weekly": frozenset({"at", "weekday", "weekdays"}),
    "monthly": frozenset({"at", "day_of_month"}),
    "every_n": frozenset({"n", "max_wait_days"}),
    "cron": frozenset({"cron"}),
}
MAX_LENGTH = 200
CRON_FIELDS = "minute hour day month weekday, such as 0 7 * * 1,4"
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall-clock time


@dataclass(frozen=True, slots=True)
class Schedule:
    """`at` is wall-clock time. `weekday`: 0 = Monday (cron counts from Sunday).

    `day_of_month`: 29 to 31 mean the last day in shorter months.
    """

    arrangement: str
    at: time = time(0)
    weekday: int = 0
    day_of_month: int = 1
    cron: str = ""

    @property
    def has_periods(self) -> bool:
        return self.arrangement in PERIODIC


def wall(moment: datetime, zone: ZoneInfo) -> datetime:
    if moment.tzinfo is None:
        raise ValueError("A moment needs a time zone.")
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_instant(reading: datetime, zone: ZoneInfo) -> datetime:
    """Return the first instant (UTC) at which the zone's clock shows `reading` or later.

    A repeated reading means its first instant, a skipped one the first after the gap.
    """
    instant = reading.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall(instant, zone) == reading:
        return instant
    # PEP 495: in a gap, fold=0 gives an instant after it, fold=1 one before it.
    low, high = reading.replace(tzinfo=zone, fold=1).astimezone(UTC).replace(microsecond=0), instant
    # Offsets change at whole seconds. A day's gap (Apia, 2011-12-30) takes 18 halvings.
    while (width := int((high - low).total_seconds())) > 1:
        middle = low + timedelta(seconds=width // 2)
        if wall(middle, zone) < reading:
            low = middle
        else:
            high = middle
    return low + timedelta(seconds=1)


def firings(line: str, reading: datetime) -> Iterator[datetime]:
    """Yield wall-clock firings: the last one not after `reading`, then all later ones.

    Searches 50 years either way. With a zone, cronsim fires star lines twice in doubled hours, and steps
    through gaps minute by minute.
    """
    reading = reading.replace(microsecond=0)
    earlier = islice(CronSim(line, reading + timedelta(seconds=1), reverse=True), 1)
    return chain(earlier, CronSim(line, reading))


def check_cron(line: str) -> None:
    """Raise ValueError for a line that is wrong or never fires.

    Any line that fires does so within 40 years (29 February on a Sunday).
    """
    if len(line) > MAX_LENGTH:
        raise ValueError(f"The cron line is longer than {MAX_LENGTH} characters.")
    if (count := len(line.split())) != 5:
        raise ValueError(f"A cron line has five fields ({CRON_FIELDS}); “{line}” has {count}.")
    try:
        moments = list(islice(firings(line, _ANY_TIME), 2))
    except CronSimError as error:
        name = str(error).removeprefix("Bad ")
        if name == "day-of-month":
            # cronsim has one error for an unreadable day and for 30 February.
            minute, hour, day, _, weekday = line.split()
            with suppress(CronSimError):
                CronSim(f"{minute} {hour} {day} * {weekday}", _ANY_TIME)
                raise ValueError(
                    f"The cron line “{line}” never fires: its months have no such day."
                ) from None
        name = {"day-of-month": "day", "day-of-week": "weekday"}.get(name, name)
        raise ValueError(f"The cron line “{line}” has a wrong {name}. It reads: {CRON_FIELDS}.") from None
    if len(moments) < 2:
        raise ValueError(f"The cron line “{line}” never fires: there is no such date.")


def explained(line: str) -> str:
    try:
        return CronSim(line, _ANY_TIME).explain()
    except CronSimError:
        return ""
