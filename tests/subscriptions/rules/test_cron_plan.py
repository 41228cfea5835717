"""Cron lines with a simple meaning, and several weekdays stored as such a line."""

from datetime import datetime, time, timedelta
from itertools import islice
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.schedule import (
    CronPlan,
    Schedule,
    WeekPlan,
    check_cron,
    cron_plan,
    firings,
    next_ends,
    on_weekdays,
    period_for,
    week_plan,
)
from tests.subscriptions.rules.strategies import LINES, moments, readings, schedules, times, zones

DAYS = st.sets(st.integers(0, 6), min_size=1)
# Fields as people write them, including stars, steps and names.
FIELD = {
    "hour": st.sampled_from(["0", "7", "7,18", "*/12", "9-11", "*"]),
    "day": st.sampled_from(["*", "1", "1,15", "L", "1,L", "31", "1-31", "*/2", "LW"]),
    "month": st.sampled_from(["*", "*/1", "1-12", "1-3"]),
    "weekday": st.sampled_from(["*", "1", "1,4", "MON-FRI", "0", "7", "0-6", "*/7", "5L", "1#1"]),
}
WRITTEN = st.builds("30 {hour} {day} {month} {weekday}".format, **FIELD)


def fits(plan: CronPlan, reading: datetime) -> bool:
    """Return whether the plan has a letter then, by a separate implementation."""
    is_last = (reading + timedelta(days=1)).day == 1
    return (
        reading.time() in plan.times
        and (not plan.weekdays or reading.weekday() in plan.weekdays)
        and (
            not plan.days_of_month
            or reading.day in plan.days_of_month
            or (is_last and 31 in plan.days_of_month)
        )
    )


@given(line=st.sampled_from(LINES) | WRITTEN, reading=readings)
def test_a_plan_has_exactly_the_times_at_which_its_line_fires(line: str, reading: datetime) -> None:
    plan = cron_plan(line)
    if plan is None:
        return
    fired = list(islice(firings(line, reading), 30))
    days = [fired[0].date() + timedelta(days=k) for k in range((fired[-1].date() - fired[0].date()).days + 1)]
    planned = [datetime.combine(day, at) for day in days for at in plan.times]
    assert fired == [each for each in planned if fired[0] <= each <= fired[-1] and fits(plan, each)]


@pytest.mark.parametrize(
    ("line", "plan"),
    [
        ("0 18 * * 1,4", CronPlan((time(18),), weekdays=(0, 3))),
        ("0 18 * * 7", CronPlan((time(18),), weekdays=(6,))),
        ("0 7,12 * * *", CronPlan((time(7), time(12)))),
        ("0 7 1,L * *", CronPlan((time(7),), days_of_month=(1, 31))),
        # Either field is enough if neither begins with a star: every day is the first to the 31st.
        ("0 7 1-31 * 1", CronPlan((time(7),))),
    ],
)
def test_a_simple_line_is_a_plan(line: str, plan: CronPlan) -> None:
    assert cron_plan(line) == plan


@pytest.mark.parametrize(
    "line",
    [
        *("*/5 * * * *", "0 7 * 1 *", "0 7 1 * 1", "0 7 * * 5L", "0 7 * * 1#1", "0 7 31 * *", "0 7 */2 * *"),
        *("0 7 LW * *", "nonsense", ""),
    ],
)
def test_no_plan_is_made_of_what_no_simple_sentence_says(line: str) -> None:
    assert cron_plan(line) is None


@given(days=DAYS, at=times)
def test_weekdays_are_read_back_as_they_were_chosen(days: set[int], at: time) -> None:
    schedule = on_weekdays(days, at)
    if schedule.cron:
        check_cron(schedule.cron)
    plan = week_plan(schedule)
    assert plan == (None if len(days) == 7 else WeekPlan(tuple(sorted(days)), at))


@given(schedule=schedules)
def test_a_week_plan_that_is_stored_again_is_the_same_plan(schedule: Schedule) -> None:
    if plan := week_plan(schedule):
        assert week_plan(on_weekdays(plan.weekdays, plan.at)) == plan


@pytest.mark.parametrize("days", [[], [7], [-1, 2]])
def test_what_is_no_weekday_is_refused(days: list[int]) -> None:
    with pytest.raises(ValueError, match="at least one weekday"):
        on_weekdays(days, time(7))


@given(days=DAYS, at=times, zone=zones, moment=moments)
def test_several_weekdays_are_cut_where_letters_of_one_day_each_would_be(
    days: set[int], at: time, zone: ZoneInfo, moment: datetime
) -> None:
    """Including clock changes: each day's own weekly letter is the reference."""
    cuts = sorted({end for day in days for end in next_ends(Schedule("weekly", at, day), zone, moment, 3)})
    # All up to the first day's third are present: no other day's fourth can precede it.
    several = next_ends(on_weekdays(days, at), zone, moment, 3)
    assert several == cuts[:3]
    assert period_for(moment, on_weekdays(days, at), zone).start == max(
        period_for(moment, Schedule("weekly", at, day), zone).start for day in days
    )
