"""Cron lines that say something simple, and several weekdays, which are kept as such a line.

A letter on Mondays and Thursdays at 7:00 is stored as `0 7 * * 1,4`: the calendar needs no second way to cut
such weeks, and a release that knows one weekday only does the same with it.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, time

from cronsim import CronSim, CronSimError

from subscriptions.rules.schedule import Schedule

EVERY_DAY = frozenset(range(7))
MONDAY_TO_FRIDAY = (0, 1, 2, 3, 4)
# More of them make no sentence.
MOST_TIMES = 4
MOST_DAYS = 6
# As in a Schedule: the last day of a month, whichever that is.
LAST_DAY = 31
_IN_EVERY_MONTH = 28
_ANY_TIME = datetime(2000, 1, 1)  # noqa: DTZ001 - a wall-clock time


@dataclass(frozen=True, slots=True)
class CronPlan:
    """At these times, on these weekdays (from 0 = Monday), or on these days of the month; else every day.

    `days_of_month` end with LAST_DAY where the line means the last.
    """

    times: tuple[time, ...]
    weekdays: tuple[int, ...] = ()
    days_of_month: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class WeekPlan:
    """On these weekdays, in order, from 0 = Monday, at one time."""

    weekdays: tuple[int, ...]
    at: time


def cron_plan(line: str) -> CronPlan | None:
    """What the line says; None where it is wrong, or no simple sentence says all of it."""
    try:
        cron = CronSim(line, _ANY_TIME)
    except CronSimError:
        return None
    times = tuple(time(hour, minute) for hour in sorted(cron.hours) for minute in sorted(cron.minutes))
    weekdays, days = _weekdays(cron), _days_of_month(cron)
    if len(cron.months) != 12 or len(times) > MOST_TIMES or weekdays is None or days is None:
        return None
    if not cron.day_and and not (weekdays and days):
        # Where neither field begins with a star, a day that either of them names is enough.
        return CronPlan(times)
    return None if weekdays and days else CronPlan(times, weekdays, days)


def week_plan(schedule: Schedule) -> WeekPlan | None:
    """The weekdays and the time of a schedule that repeats every week, once on a day; None for another."""
    if schedule.arrangement == "weekly":
        return WeekPlan((schedule.weekday,), schedule.at)
    plan = cron_plan(schedule.cron) if schedule.arrangement == "cron" else None
    if plan is None or not plan.weekdays or len(plan.times) != 1:
        return None
    return WeekPlan(plan.weekdays, plan.times[0])


def on_weekdays(weekdays: Collection[int], at: time) -> Schedule:
    """The schedule of a letter on each of these days: weekly, or daily, or else a cron line.

    Raises ValueError, in a sentence for the admin, for no day and for what is none.
    """
    days = sorted(set(weekdays))
    if not days or not EVERY_DAY.issuperset(days):
        raise ValueError("Choose one weekday at least, from 0 for Monday to 6 for Sunday.")
    if len(days) == 1:
        return Schedule("weekly", at, days[0])
    if len(days) == 7:
        return Schedule("daily", at)
    # Cron counts from Sunday.
    numbers = ",".join(str(number) for number in sorted((day + 1) % 7 for day in days))
    return Schedule("cron", cron=f"{at.minute} {at.hour} * * {numbers}")


def _weekdays(cron: CronSim) -> tuple[int, ...] | None:
    """() for every day; None for such as the first Friday of a month."""
    days = {(day - 1) % 7 for day in cron.weekdays if isinstance(day, int)}
    if any(isinstance(day, tuple) for day in cron.weekdays):
        return None
    return () if days == EVERY_DAY else tuple(sorted(days))


def _days_of_month(cron: CronSim) -> tuple[int, ...] | None:
    """() for every day; None for too many to name, and for those that some months lack."""
    numbers = sorted(day for day in cron.days if day != CronSim.LAST)
    if len(numbers) == LAST_DAY:
        return ()
    days = (*numbers, *((LAST_DAY,) if CronSim.LAST in cron.days else ()))
    is_plain = len(days) <= MOST_DAYS and all(1 <= day <= _IN_EVERY_MONTH for day in numbers)
    return days if is_plain else None
