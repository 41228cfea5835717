"""Ten years in four zones: each moment is in one period, each cut at the right local time."""

import random
from bisect import bisect_right
from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise, product
from zoneinfo import ZoneInfo

import pytest

from subscriptions.rules.collections import within_type_id_for
from subscriptions.rules.completion import CollectionFacts, is_complete
from subscriptions.rules.schedule import Period, Schedule, on_weekdays, period_for
from tests.examples import some_now

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
