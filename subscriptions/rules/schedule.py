"""Cron lines fire on the wall clock, then become instants.

Simple cron lines. Several weekdays are stored as `0 7 * * 1,4`, which older releases can read.

Each period ends where the next starts.
"""

from calendar import monthrange
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
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
EVERY_DAY = frozenset(range(7))
MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
MOST_TIMES = 4
MOST_DAYS = 6
# As in Schedule: any month's last day.
LAST_DAY = 31
_IN_EVERY_MONTH = 28
# A clock set back by a whole day needs four.
_LOOK_AHEAD = 6


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


@dataclass(frozen=True, slots=True)
class CronPlan:
    """Times on weekdays (0 = Monday) or days of the month, or every day."""

    times: tuple[time, ...]
    weekdays: tuple[int, ...] = ()
    days_of_month: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WeekPlan:
    weekdays: tuple[int, ...]
    at: time


def cron_plan(line: str) -> CronPlan | None:
    """Return None for a wrong line or a complex one."""
    try:
        cron = CronSim(line, _ANY_TIME)
    except CronSimError:
        return None
    times = tuple(time(hour, minute) for hour in sorted(cron.hours) for minute in sorted(cron.minutes))
    weekdays, days = _weekdays(cron), _days_of_month(cron)
    if len(cron.months) != 12 or len(times) > MOST_TIMES or weekdays is None or days is None:
        return None
    if not cron.day_and and not (weekdays and days):
        # If neither field begins with a star, either may match.
        return CronPlan(times)
    return None if weekdays and days else CronPlan(times, weekdays, days)


def week_plan(schedule: Schedule) -> WeekPlan | None:
    if schedule.arrangement == "weekly":
        return WeekPlan((schedule.weekday,), schedule.at)
    plan = cron_plan(schedule.cron) if schedule.arrangement == "cron" else None
    if plan is None or not plan.weekdays or len(plan.times) != 1:
        return None
    return WeekPlan(plan.weekdays, plan.times[0])


def on_weekdays(weekdays: Collection[int], at: time) -> Schedule:
    """Raises ValueError with a sentence."""
    days = sorted(set(weekdays))
    if not days or not EVERY_DAY.issuperset(days):
        raise ValueError("Choose at least one weekday, from 0 for Monday to 6 for Sunday.")
    if len(days) == 1:
        return Schedule("weekly", at, days[0])
    if len(days) == 7:
        return Schedule("daily", at)
    # Cron counts from Sunday.
    numbers = ",".join(str(number) for number in sorted((day + 1) % 7 for day in days))
    return Schedule("cron", cron=f"{at.minute} {at.hour} * * {numbers}")


def _weekdays(cron: CronSim) -> tuple[int, ...] | None:
    """Return () for every day, and None for days such as the first Friday of a month."""
    days = {(day - 1) % 7 for day in cron.weekdays if isinstance(day, int)}
    if any(isinstance(day, tuple) for day in cron.weekdays):
        return None
    return () if days == EVERY_DAY else tuple(sorted(days))


def _days_of_month(cron: CronSim) -> tuple[int, ...] | None:
    """Return () for every day, and None for too many or days that some months lack."""
    numbers = sorted(day for day in cron.days if day != CronSim.LAST)
    if len(numbers) == LAST_DAY:
        return ()
    days = (*numbers, *((LAST_DAY,) if CronSim.LAST in cron.days else ()))
    is_plain = len(days) <= MOST_DAYS and all(1 <= day <= _IN_EVERY_MONTH for day in numbers)
    return days if is_plain else None


@dataclass(frozen=True, slots=True)
class Period:
    """[start, end) in UTC."""

    start: datetime
    end: datetime

    def __contains__(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


def period_for(moment: datetime, schedule: Schedule, zone: ZoneInfo) -> Period:
    """Raises ValueError without periods, or without a firing on either side."""
    shown, at = wall(moment, zone), schedule.at
    # Today's cut may be still to come.
    day = shown.date() - timedelta(days=1)
    # Wall-clock cuts, the first not after the moment.
    match schedule.arrangement:
        case "cron":
            cuts = firings(schedule.cron, shown)
        case "daily":
            cuts = (datetime.combine(day + timedelta(days=k), at) for k in range(_LOOK_AHEAD))
        case "weekly":
            first = day - timedelta(days=(day.weekday() - schedule.weekday) % 7)
            cuts = (datetime.combine(first + timedelta(weeks=k), at) for k in range(_LOOK_AHEAD))
        case "monthly":
            days = (in_month(day, k, schedule.day_of_month) for k in range(-1, _LOOK_AHEAD - 1))
            cuts = (datetime.combine(each, at) for each in days)
        case _:
            raise ValueError(f"The arrangement {schedule.arrangement} has no periods.")
    start: datetime | None = None
    for reading in cuts:
        cut = first_instant(reading, zone)
        if cut <= moment:
            start = cut
        elif start is not None:
            return Period(start, cut)
    raise ValueError(f"There is no period around {moment.isoformat()} in {schedule}.")


def next_ends(schedule: Schedule, zone: ZoneInfo, after: datetime, count: int = 5) -> list[datetime]:
    """Return ends in UTC, if there are periods."""
    ends: list[datetime] = []
    for _ in range(count if schedule.has_periods else 0):
        after = period_for(after, schedule, zone).end
        ends.append(after)
    return ends


def in_month(day: date, months: int, day_of_month: int) -> date:
    """Return that day `months` after `day`, or the month's last day."""
    years, month = divmod(day.month - 1 + months, 12)
    year = day.year + years
    return date(year, month + 1, min(day_of_month, monthrange(year, month + 1)[1]))
