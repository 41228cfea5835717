"""Cron lines: which are valid, and when they fire.

Cron lines with a simple meaning, and several weekdays stored as such a line.
Periods on difficult days: daylight saving, New Year, leap days, ends of months.
"""

from datetime import UTC, datetime, time, timedelta
from itertools import islice
from time import perf_counter
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.schedule import (
    CronPlan,
    Period,
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

LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
APIA = ZoneInfo("Pacific/Apia")
MICROSECOND = datetime.resolution
DAYS = st.sets(st.integers(0, 6), min_size=1)
# Fields as people write them, including stars, steps and names.
FIELD = {
    "hour": st.sampled_from(["0", "7", "7,18", "*/12", "9-11", "*"]),
    "day": st.sampled_from(["*", "1", "1,15", "L", "1,L", "31", "1-31", "*/2", "LW"]),
    "month": st.sampled_from(["*", "*/1", "1-12", "1-3"]),
    "weekday": st.sampled_from(["*", "1", "1,4", "MON-FRI", "0", "7", "0-6", "*/7", "5L", "1#1"]),
}
WRITTEN = st.builds("30 {hour} {day} {month} {weekday}".format, **FIELD)
NEW_YORK = ZoneInfo("America/New_York")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron(line: str) -> Schedule:
    return Schedule("cron", cron=line)


@pytest.mark.parametrize(
    "line",
    [
        *(
            "0 7 * * 1,4",
            "*/15 * * * *",
            "0 0 29 2 *",
            "0 0 29 2 */7",
            "0 0 L * *",
            "0 9 * * mon#1",
            "0 0 * * 7",
        ),
        *("0 0 1 jan *", " 0  7 * * * ", "59 23 31 12 *"),
    ],
)
def test_lines_that_fire_are_taken(line: str) -> None:
    check_cron(line)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("", "five fields .* has 0"),
        ("@daily", "five fields .* has 1"),
        ("0 7 * *", "five fields .* has 4"),
        ("0 0 7 * * 1", "five fields .* has 6"),
        ("x * * * *", "wrong minute"),
        ("60 * * * *", "wrong minute"),
        ("0 24 * * *", "wrong hour"),
        ("0 0 32 1 *", "wrong day"),
        ("0 0 0 * *", "wrong day"),
        ("0 0 1 13 *", "wrong month"),
        ("0 0 * * 8", "wrong weekday"),
        ("*/0 * * * *", "wrong minute"),
        ("0 0 30 2 *", "never fires: its months have no such day"),
        ("0 0 31 4,6,9,11 *", "never fires"),
        ("0 0 */31 * 1#3", "never fires: there is no such date"),
        ("1," * 200 + " * * * *", "longer than 200"),
    ],
)
def test_lines_that_are_wrong_or_never_fire_are_refused_with_the_reason(line: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check_cron(line)


@given(
    line=st.one_of(
        st.text(max_size=30),
        st.lists(st.text("0123456789*/-,L#W", min_size=1, max_size=8), min_size=5, max_size=5).map(" ".join),
    )
)
def test_any_text_is_taken_or_refused_with_a_sentence(line: str) -> None:
    refusal = _refusal(line)
    if refusal is None:
        assert len(next_ends(cron(line), NEW_YORK, utc("2026-01-01 00:00"), 2)) == 2
    else:
        assert refusal.endswith(".")


def _refusal(line: str) -> str | None:
    try:
        check_cron(line)
    except ValueError as error:
        return str(error)
    return None


def test_a_period_lies_between_two_firings() -> None:
    period = period_for(utc("2026-11-18 00:00"), cron("0 7 * * 1,4"), NEW_YORK)
    assert period == Period(utc("2026-11-16 12:00"), utc("2026-11-19 12:00"))


def test_the_last_microsecond_belongs_to_the_period_and_the_firing_does_not() -> None:
    firing = utc("2026-11-16 12:00")
    assert period_for(firing - datetime.resolution, cron("0 7 * * 1,4"), NEW_YORK).end == firing
    assert period_for(firing, cron("0 7 * * 1,4"), NEW_YORK).start == firing


@pytest.mark.parametrize("line", ["30 1 * * *", "*/30 * * * *"])
def test_a_doubled_hour_fires_once(line: str) -> None:
    ends = next_ends(cron(line), NEW_YORK, utc("2026-11-01 05:00"), 60)
    assert utc("2026-11-01 05:30") in ends
    assert utc("2026-11-01 06:30") not in ends


def test_a_skipped_firing_comes_right_after_the_gap_and_only_once() -> None:
    ends = next_ends(cron("*/30 * * * *"), NEW_YORK, utc("2026-03-08 06:00"), 3)
    assert ends == [utc("2026-03-08 06:30"), utc("2026-03-08 07:00"), utc("2026-03-08 07:30")]


def test_lord_howe_fires_once_in_its_doubled_half_hour() -> None:
    ends = next_ends(cron("45 1 * * *"), ZoneInfo("Australia/Lord_Howe"), utc("2026-04-04 00:00"), 2)
    assert ends == [utc("2026-04-04 14:45"), utc("2026-04-05 15:15")]


def test_both_days_of_a_line_with_month_day_and_weekday_count() -> None:
    ends = next_ends(cron("0 0 13 * 5"), ZoneInfo("UTC"), utc("2026-10-01 00:00"), 4)
    assert [end.day for end in ends] == [2, 9, 13, 16]


@pytest.mark.parametrize("line", ["0 0 29 2 */7", "* * * * *", "0 0 29 2 *"])
def test_looking_back_is_fast_however_rare_the_firing(line: str) -> None:
    began = perf_counter()
    for day in range(1, 21):
        period_for(utc(f"2026-02-{day:02} 00:00"), cron(line), NEW_YORK)
    assert perf_counter() - began < 1


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


@given(moment=moments, schedule=schedules, zone=zones)
def test_a_moment_is_in_its_period_and_the_neighbours_touch_it(
    moment: datetime, schedule: Schedule, zone: ZoneInfo
) -> None:
    period = period_for(moment, schedule, zone)
    assert moment in period
    assert period.start < period.end
    assert period.start.tzinfo is UTC
    assert period.end.tzinfo is UTC
    assert period_for(period.start, schedule, zone) == period
    assert period_for(period.end - MICROSECOND, schedule, zone) == period
    assert period_for(period.end, schedule, zone).start == period.end
    assert period_for(period.start - MICROSECOND, schedule, zone).end == period.start


@given(schedule=schedules, zone=zones, moment=moments, share=st.floats(0, 1, exclude_max=True))
def test_every_moment_of_a_period_has_that_period(
    schedule: Schedule, zone: ZoneInfo, moment: datetime, share: float
) -> None:
    period = period_for(moment, schedule, zone)
    inside = period.start + (period.end - period.start) * share
    if inside in period:  # a share next to 1 rounds up to the end
        assert period_for(inside, schedule, zone) == period


@given(schedule=schedules, zone=zones, moment=moments)
def test_the_answer_does_not_depend_on_the_zone_the_moment_is_written_in(
    schedule: Schedule, zone: ZoneInfo, moment: datetime
) -> None:
    assert period_for(moment.astimezone(zone), schedule, zone) == period_for(moment, schedule, zone)


def test_a_cut_in_the_gap_of_spring_is_its_first_instant_after() -> None:
    schedule = Schedule("daily", time(2, 30))
    period = period_for(utc("2026-03-08 06:59"), schedule, NEW_YORK)
    assert period == Period(utc("2026-03-07 07:30"), utc("2026-03-08 07:00"))
    assert period_for(period.end, schedule, NEW_YORK).end == utc("2026-03-09 06:30")


def test_a_doubled_cut_in_autumn_is_its_first() -> None:
    schedule = Schedule("daily", time(1, 30))
    period = period_for(utc("2026-11-01 05:30"), schedule, NEW_YORK)
    assert period == Period(utc("2026-11-01 05:30"), utc("2026-11-02 06:30"))
    assert period_for(utc("2026-11-01 06:30"), schedule, NEW_YORK) == period


def test_days_of_daylight_saving_last_23_and_25_hours() -> None:
    lengths = [
        (period.end - period.start).total_seconds() / 3600
        for day in ("2026-03-08 12:00", "2026-11-01 12:00", "2026-06-01 12:00")
        for period in [period_for(utc(day), Schedule("daily"), NEW_YORK)]
    ]
    assert lengths == [23, 25, 24]


def test_lord_howe_shifts_by_half_an_hour() -> None:
    schedule = Schedule("daily", time(2, 15))
    spring = period_for(utc("2026-10-03 15:29"), schedule, LORD_HOWE)
    assert spring == Period(utc("2026-10-02 15:45"), utc("2026-10-03 15:30"))
    autumn = period_for(utc("2026-04-04 15:00"), Schedule("daily", time(1, 45)), LORD_HOWE)
    assert autumn == Period(utc("2026-04-04 14:45"), utc("2026-04-05 15:15"))


def test_a_date_that_samoa_left_out_makes_no_empty_period() -> None:
    midnight = Schedule("daily", time(0))
    assert period_for(utc("2011-12-30 09:59"), midnight, APIA) == Period(
        utc("2011-12-29 10:00"), utc("2011-12-30 10:00")
    )
    assert period_for(utc("2011-12-30 10:00"), midnight, APIA).end == utc("2011-12-31 10:00")
    friday = Schedule("weekly", time(7), weekday=4)
    assert period_for(utc("2011-12-30 09:59"), friday, APIA).end == utc("2011-12-30 10:00")
    monthly = Schedule("monthly", time(7), day_of_month=30)
    assert period_for(utc("2011-12-30 09:59"), monthly, APIA).end == utc("2011-12-30 10:00")


def test_the_clock_set_back_over_midnight_makes_one_cut() -> None:
    # 00:01 became 23:01 of the day before: the second midnight does not count.
    schedule = Schedule("daily", time(0))
    zone = ZoneInfo("America/St_Johns")
    period = period_for(utc("2006-10-29 03:00"), schedule, zone)
    assert period == Period(utc("2006-10-29 02:30"), utc("2006-10-30 03:30"))


def test_a_week_goes_on_over_new_year() -> None:
    period = period_for(utc("2026-01-01 12:00"), Schedule("weekly", time(7), 0), NEW_YORK)
    assert period == Period(utc("2025-12-29 12:00"), utc("2026-01-05 12:00"))


def test_the_last_days_of_december_have_days_of_their_own() -> None:
    # A label with the year of the week put 2025-12-28 into 2026.
    ends = next_ends(Schedule("daily"), NEW_YORK, utc("2025-12-28 12:00"), 5)
    assert ends == [
        utc(f"{day} 05:00") for day in ("2025-12-29", "2025-12-30", "2025-12-31", "2026-01-01", "2026-01-02")
    ]


@pytest.mark.parametrize(("day", "cuts"), [(29, "29 29 29"), (30, "29 30 30"), (31, "29 31 30")])
def test_a_day_that_a_month_lacks_is_its_last(day: int, cuts: str) -> None:
    ends = next_ends(Schedule("monthly", day_of_month=day), ZoneInfo("UTC"), utc("2028-02-10 00:00"), 3)
    assert [end.day for end in ends] == [int(cut) for cut in cuts.split()]


def test_february_has_its_cut_on_the_28th_in_common_years() -> None:
    period = period_for(
        utc("2026-02-28 07:00"), Schedule("monthly", time(7), day_of_month=31), ZoneInfo("UTC")
    )
    assert period == Period(utc("2026-02-28 07:00"), utc("2026-03-31 07:00"))


def test_a_day_is_cut_at_its_hour_and_the_cut_begins_the_next() -> None:
    schedule = Schedule("daily", time(7))
    assert period_for(utc("2026-07-01 10:59"), schedule, NEW_YORK).end == utc("2026-07-01 11:00")
    assert period_for(utc("2026-07-01 11:00"), schedule, NEW_YORK).start == utc("2026-07-01 11:00")


@pytest.mark.parametrize("arrangement", ["each", "every_n"])
def test_what_posts_cut_has_no_periods(arrangement: str) -> None:
    schedule = Schedule(arrangement)
    assert not schedule.has_periods
    assert next_ends(schedule, NEW_YORK, utc("2026-01-01 00:00")) == []
    with pytest.raises(ValueError, match="has no periods"):
        period_for(utc("2026-01-01 00:00"), schedule, NEW_YORK)


@given(moment=moments, schedule=schedules, zone=zones, count=st.integers(0, 6))
def test_next_ends_come_after_the_moment_and_rise(
    moment: datetime, schedule: Schedule, zone: ZoneInfo, count: int
) -> None:
    ends = next_ends(schedule, zone, moment, count)
    assert len(ends) == count
    assert ends == sorted(set(ends))
    assert all(end > moment for end in ends)
