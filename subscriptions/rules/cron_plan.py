"""Simple cron lines. Several weekdays are stored as `0 7 * * 1,4`, which older releases can read."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, time

from cronsim import CronSim, CronSimError

from subscriptions.rules.schedule import Schedule

EVERY_DAY = frozenset(range(7))
MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
MOST_TIMES = 4
MOST_DAYS = 6
# As in Schedule: any month's last day.
LAST_DAY = 31
_IN_EVERY_MONTH = 28
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall-clock time


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
