"""Ten years in four zones: each moment is in one period, each cut at the right local time.

From wall clock to instant, at missing and repeated hours.
"""

import random
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise, product
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given

from subscriptions.rules.collections import within_type_id_for
from subscriptions.rules.completion import CollectionFacts, is_complete
from subscriptions.rules.schedule import Period, Schedule, first_instant, on_weekdays, period_for, wall
from tests.examples import NIGHTLY, some_now
from tests.subscriptions.rules.strategies import EARLIEST, readings, zones

FIRST, LAST = date(2020, 1, 1), date(2030, 1, 1)
START, END = datetime(2020, 1, 1, tzinfo=UTC), datetime(2030, 1, 1, tzinfo=UTC)
HOUR, SECOND, MICROSECOND = timedelta(hours=1), timedelta(seconds=1), datetime.resolution
ZONES = ["America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Kiritimati"]
ARRANGEMENTS = [
    Schedule("each"),
    Schedule("every_n"),
    Schedule("daily", time(2, 15)),
    Schedule("weekly", time(7), 0),
    Schedule("monthly", time(0), day_of_month=30),
    Schedule("cron", cron="0 7 * * 1,4"),
]


def _every_day(day: date) -> bool:
    return True


def _clamped(wanted: int) -> Callable[[date], bool]:
    return lambda day: day.day == min(wanted, monthrange(day.year, day.month)[1])


# A schedule, its dates and times by a second, simpler implementation, and the step in hours between the
# tested moments.
CASES = {
    "daily at midnight": (Schedule("daily", time(0)), _every_day, [time(0)], 5),
    "daily in the gap": (Schedule("daily", time(2, 15)), _every_day, [time(2, 15)], 1),
    "daily in the doubled hour": (Schedule("daily", time(1, 45)), _every_day, [time(1, 45)], 5),
    "weekly": (Schedule("weekly", time(2, 30), 6), lambda day: day.weekday() == 6, [time(2, 30)], 5),
    "monthly": (Schedule("monthly", time(7), day_of_month=31), _clamped(31), [time(7)], 5),
    "three weekdays": (
        on_weekdays({1, 3, 6}, time(2, 30)),
        lambda day: day.weekday() in (1, 3, 6),
        [time(2, 30)],
        31,
    ),
    "cron": (Schedule("cron", cron="0 7 * * 1,4"), lambda day: day.weekday() in (0, 3), [time(7)], 31),
    "cron at night": (
        Schedule("cron", cron="30 */6,1-2 1,15 * *"),
        lambda day: day.day in (1, 15),
        [time(hour, 30) for hour in (0, 1, 2, 6, 12, 18)],
        31,
    ),
}


def _walk(schedule: Schedule, zone: ZoneInfo) -> list[Period]:
    """Return all periods of the ten local years, each found from the end of the one before."""
    periods = [period_for(datetime.combine(FIRST, time(0), zone), schedule, zone)]
    while periods[-1].end < max(END, datetime.combine(LAST, time(0), zone)):
        periods.append(period_for(periods[-1].end, schedule, zone))
    return periods


def _is_cut(moment: datetime, reading: datetime, zone: ZoneInfo) -> bool:
    """Return whether the local clock first shows or skips the reading at that moment."""
    local, before = moment.astimezone(zone), (moment - SECOND).astimezone(zone)
    return local.fold == 0 and before.replace(tzinfo=None) < reading <= local.replace(tzinfo=None)


# A third of the pairs includes every case and every zone.
@pytest.mark.slow
@pytest.mark.parametrize(("case", "zone_name"), some_now(product(CASES, ZONES), every=9))
def test_ten_years_are_tiled_by_periods_cut_at_the_local_time(case: str, zone_name: str) -> None:
    (schedule, has_cut, times, step), zone = CASES[case], ZoneInfo(zone_name)
    periods = _walk(schedule, zone)

    assert all(one.end == other.start for one, other in pairwise(periods))
    assert all(one.start < one.end for one in periods)
    _assert_cuts(periods, has_cut, times, zone)
    for period in periods:
        assert period_for(period.end - MICROSECOND, schedule, zone) == period

    starts = [period.start for period in periods]
    for hour in range(24, 10 * 365 * 24, step):
        moment = START + hour * HOUR
        assert period_for(moment, schedule, zone) == periods[bisect_right(starts, moment) - 1]


def _assert_cuts(
    periods: list[Period], has_cut: Callable[[date], bool], times: list[time], zone: ZoneInfo
) -> None:
    days = [FIRST + timedelta(days=k) for k in range((LAST - FIRST).days)]
    readings = [datetime.combine(day, at) for day in days if has_cut(day) for at in times]
    ends = iter([period.end for period in [Period(START, periods[0].start), *periods]])
    end, found = next(ends), set()
    for reading in readings:
        while end.astimezone(zone).replace(tzinfo=None) < reading:
            end = next(ends)
        assert _is_cut(end, reading, zone), (end, reading)
        found.add(end)
    # A gap merges several cuts into one, so that no period is empty; there are no others.
    assert found == {
        period.start for period in periods if FIRST <= period.start.astimezone(zone).date() < LAST
    }


@pytest.mark.slow
@pytest.mark.parametrize(("schedule", "zone_name"), some_now(product(ARRANGEMENTS, ZONES), every=9), ids=str)
def test_in_ten_years_every_post_is_in_exactly_one_issue_and_no_issue_is_empty(
    schedule: Schedule, zone_name: str
) -> None:
    zone, draw = ZoneInfo(zone_name), random.Random(7)
    posts = sorted(START + timedelta(minutes=draw.randrange(10 * 365 * 24 * 60)) for _ in range(3000))
    open_now: dict[str, tuple[CollectionFacts, list[int]]] = {}
    issued: dict[str, list[int]] = {}
    moment, taken, counter = START, 0, 1
    while moment < END + timedelta(days=40):
        while taken < len(posts) and posts[taken] <= moment:
            period = period_for(posts[taken], schedule, zone) if schedule.has_periods else None
            wti = within_type_id_for(schedule.arrangement, item_id=taken, period=period, counter=counter)
            facts, members = open_now.get(wti) or (_opened(schedule, period, moment), [])
            members = [*members, taken]
            open_now[wti] = (_counted(facts, len(members)), members)
            if len(members) == 3:
                counter += 1
            taken += 1
        for wti, (facts, members) in list(open_now.items()):
            if is_complete(facts, [], moment):
                assert wti not in issued
                issued[wti] = members
                del open_now[wti]
        moment += 3 * HOUR
    assert not open_now
    assert all(issued.values())
    assert sorted(post for members in issued.values() for post in members) == list(range(len(posts)))
    for wti, members in issued.items():
        if schedule.has_periods:
            start = datetime.fromisoformat(wti)
            assert all(posts[post] in period_for(start, schedule, zone) for post in members)


def _opened(schedule: Schedule, period: Period | None, now: datetime) -> CollectionFacts:
    capacity = 3 if schedule.arrangement == "every_n" else None
    return CollectionFacts(
        count=0, opened_at=now, capacity=capacity, period_end=period.end if period else None
    )


def _counted(facts: CollectionFacts, count: int) -> CollectionFacts:
    return CollectionFacts(
        count=count, opened_at=facts.opened_at, capacity=facts.capacity, period_end=facts.period_end
    )


@pytest.mark.parametrize(
    ("zone", "reading", "instant"),
    [
        ("America/New_York", "2026-03-08 01:59", "2026-03-08 06:59"),
        ("America/New_York", "2026-03-08 02:00", "2026-03-08 07:00"),
        ("America/New_York", "2026-03-08 02:59", "2026-03-08 07:00"),
        ("America/New_York", "2026-03-08 03:00", "2026-03-08 07:00"),
        ("America/New_York", "2026-11-01 01:30", "2026-11-01 05:30"),
        ("America/New_York", "2026-11-01 02:00", "2026-11-01 07:00"),
        ("Australia/Lord_Howe", "2026-10-04 02:15", "2026-10-03 15:30"),
        ("Australia/Lord_Howe", "2026-10-04 02:30", "2026-10-03 15:30"),
        ("Australia/Lord_Howe", "2026-04-05 01:45", "2026-04-04 14:45"),
        ("Pacific/Kiritimati", "2026-01-01 00:00", "2025-12-31 10:00"),
        ("Asia/Kolkata", "2026-01-01 00:00", "2025-12-31 18:30"),
        ("Pacific/Apia", "2011-12-30 07:00", "2011-12-30 10:00"),
        ("Pacific/Apia", "2011-12-31 00:00", "2011-12-30 10:00"),
    ],
)
def test_a_gap_ends_in_its_first_instant_and_a_doubled_time_is_its_first(
    zone: str, reading: str, instant: str
) -> None:
    found = first_instant(datetime.fromisoformat(reading), ZoneInfo(zone))
    assert found == datetime.fromisoformat(f"{instant}+00:00")
    assert found.tzinfo is UTC


@given(zone=zones, reading=readings)
def test_the_clock_first_shows_the_reading_or_later_at_that_instant(
    zone: ZoneInfo, reading: datetime
) -> None:
    found = first_instant(reading, zone)
    assert wall(found - timedelta(seconds=1), zone) < reading <= wall(found, zone)
    assert found.astimezone(zone).fold == 0


@NIGHTLY
def test_this_holds_around_every_change_of_every_zone_since_2000() -> None:
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        for day in _days_of_change(zone):
            for quarter in range(96):
                reading = datetime.combine(day, time(0)) + timedelta(minutes=15 * quarter)
                found = first_instant(reading, zone)
                assert wall(found - timedelta(seconds=1), zone) < reading <= wall(found, zone), (
                    name,
                    reading,
                )


def test_a_moment_without_a_zone_is_refused() -> None:
    with pytest.raises(ValueError, match="needs a time zone"):
        wall(EARLIEST, ZoneInfo("UTC"))


def _days_of_change(zone: ZoneInfo) -> list[date]:
    # A few years, including the one in which Samoa skipped a day, take less than three seconds.
    days = []
    for year in (2001, 2006, 2011, 2018, 2025):
        start = datetime(year, 1, 1, tzinfo=UTC)
        offsets = [(start + timedelta(days=k)).astimezone(zone).utcoffset() for k in range(367)]
        days += [date(year, 1, 1) + timedelta(days=k) for k in range(366) if offsets[k] != offsets[k + 1]]
    return days
