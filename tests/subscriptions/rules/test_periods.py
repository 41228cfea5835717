"""Periods on difficult days: daylight saving, New Year, leap days, ends of months."""

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.schedule import Period, Schedule, next_ends, period_for
from tests.subscriptions.rules.strategies import moments, schedules, zones

NEW_YORK = ZoneInfo("America/New_York")
LORD_HOWE = ZoneInfo("Australia/Lord_Howe")
APIA = ZoneInfo("Pacific/Apia")
MICROSECOND = datetime.resolution


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


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
