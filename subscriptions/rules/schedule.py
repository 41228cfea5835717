"""A schedule: how a newsletter collects its posts, daily, weekly, or by a cron line.

A cron line's five fields are read on the wall clock; from there to the instant it is one step, whatever
daylight saving does.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from itertools import chain, islice
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

PERIODIC = frozenset({"daily", "weekly", "monthly", "cron"})
ARRANGEMENTS = PERIODIC | {"each", "every_n"}
MAX_LENGTH = 200
CRON_FIELDS = "minute hour day month weekday, such as 0 7 * * 1,4"
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall-clock time


@dataclass(frozen=True, slots=True)
class Schedule:
    """An arrangement with its details; each arrangement reads only its own.

    `at` is the wall clock's time of the cut. `weekday` counts from 0 = Monday (cron counts from Sunday).
    `day_of_month` 29 to 31 mean the last day in shorter months. `cron` is minute hour day month weekday.
    """

    arrangement: str
    at: time = time(0)
    weekday: int = 0
    day_of_month: int = 1
    cron: str = ""

    @property
    def has_periods(self) -> bool:
        """Whether collections are cut by the calendar, not by their posts."""
        return self.arrangement in PERIODIC


def wall(moment: datetime, zone: ZoneInfo) -> datetime:
    """What the zone's clock shows at an aware moment, as a naive datetime."""
    if moment.tzinfo is None:
        raise ValueError("A moment needs a time zone.")
    return moment.astimezone(zone).replace(tzinfo=None, fold=0)


def first_instant(reading: datetime, zone: ZoneInfo) -> datetime:
    """The first instant (UTC) at which the zone's clock shows the naive `reading` or a later one.

    A reading that occurs twice means its first; one that is skipped, the first instant after the gap.
    So a later reading is never an earlier instant; two skipped ones may be the same.
    """
    instant = reading.replace(tzinfo=zone, fold=0).astimezone(UTC)
    if wall(instant, zone) == reading:
        return instant
    # PEP 495: in a gap, fold=0 reads the offset before it and so lies after it; fold=1 the reverse.
    low, high = reading.replace(tzinfo=zone, fold=1).astimezone(UTC).replace(microsecond=0), instant
    # Offsets change at whole seconds; a day's gap (Apia, 2011-12-30) takes 18 halvings.
    while (width := int((high - low).total_seconds())) > 1:
        middle = low + timedelta(seconds=width // 2)
        if wall(middle, zone) < reading:
            low = middle
        else:
            high = middle
    return low + timedelta(seconds=1)


def firings(line: str, reading: datetime) -> Iterator[datetime]:
    """The wall-clock times a line fires at: the last one not after the naive `reading`, then all later ones.

    Looks at most 50 years either way. Given to cronsim without a zone: it would fire every doubled hour
    twice for lines with a star, and step through a gap minute by minute.
    """
    reading = reading.replace(microsecond=0)
    earlier = islice(CronSim(line, reading + timedelta(seconds=1), reverse=True), 1)
    return chain(earlier, CronSim(line, reading))


def check_cron(line: str) -> None:
    """Raises ValueError, in a sentence for the admin, for a line that is wrong or never fires.

    Neither zone nor present matters. Whatever fires at all does so within 40 years: 29 February on a Sunday.
    """
    if len(line) > MAX_LENGTH:
        raise ValueError(f"The cron line is longer than {MAX_LENGTH} characters.")
    if (count := len(line.split())) != 5:
        raise ValueError(f"A cron line has five fields ({CRON_FIELDS}); “{line}” has {count}.")
    try:
        found = list(islice(firings(line, _ANY_TIME), 2))
    except CronSimError as error:
        name = str(error).removeprefix("Bad ")
        if name == "day-of-month":
            # cronsim says so both for a day that it cannot read and for 30 February.
            minute, hour, day, _, weekday = line.split()
            with suppress(CronSimError):
                CronSim(f"{minute} {hour} {day} * {weekday}", _ANY_TIME)
                raise ValueError(
                    f"The cron line “{line}” never fires: its months have no such day."
                ) from None
        name = {"day-of-month": "day", "day-of-week": "weekday"}.get(name, name)
        raise ValueError(f"The cron line “{line}” has a wrong {name}. It reads: {CRON_FIELDS}.") from None
    if len(found) < 2:
        raise ValueError(f"The cron line “{line}” never fires: there is no such date.")


def explained(line: str) -> str:
    """The line as the cron library says it in English; empty for a wrong one."""
    try:
        return CronSim(line, _ANY_TIME).explain()
    except CronSimError:
        return ""
