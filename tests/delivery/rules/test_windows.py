"""Sliding windows over counts per minute, and the warm-up that raises the daily limit."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.limits import (
    DAY,
    HOUR,
    WARM,
    WarmUp,
    daily_limit,
    daily_room_at,
    minute_of,
    ramp,
    room_at,
    used_within,
    warm_up_allows,
)

NOW = datetime(2026, 3, 2, 12, 0, 30, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
DAY_ONE = date(2026, 3, 2)
steps = st.lists(st.tuples(st.integers(0, 4000), st.integers(1, 8)), min_size=1, max_size=60)


def test_a_minute_that_is_partly_inside_counts_whole() -> None:
    uses = [(datetime(2026, 3, 2, 11, 0, tzinfo=UTC), 5)]
    assert used_within(uses, HOUR, NOW) == 5
    assert used_within(uses, HOUR, NOW + 29 * SECOND) == 5
    assert used_within(uses, HOUR, NOW + 30 * SECOND) == 0


def test_room_comes_when_enough_old_minutes_have_left() -> None:
    first = datetime(2026, 3, 2, 11, 10, tzinfo=UTC)
    uses = [(first, 3), (first + 5 * MINUTE, 3)]
    assert room_at(uses, HOUR, 7, NOW) == NOW
    assert room_at(uses, HOUR, 6, NOW) == first + HOUR + MINUTE
    assert room_at(uses, HOUR, 3, NOW) == first + 5 * MINUTE + HOUR + MINUTE


@given(steps=steps, limit=st.integers(1, 10))
def test_no_real_window_ever_holds_more_than_the_limit(steps: list[tuple[int, int]], limit: int) -> None:
    counts: Counter[datetime] = Counter()
    sent: list[datetime] = []
    now = NOW
    for pause, wanted in steps:
        now += timedelta(seconds=pause)
        taken = min(wanted, max(limit - used_within(list(counts.items()), HOUR, now), 0))
        counts[minute_of(now)] += taken
        sent += [now] * taken
    for end in sent:
        assert sum(end - HOUR < moment <= end for moment in sent) <= limit


@given(steps=steps, limit=st.integers(1, 10))
def test_the_promised_moment_has_room_and_none_before_it(steps: list[tuple[int, int]], limit: int) -> None:
    counts: Counter[datetime] = Counter()
    now = NOW
    for pause, count in steps:
        now += timedelta(seconds=pause)
        counts[minute_of(now)] += count
    uses = list(counts.items())
    moment = room_at(uses, HOUR, limit, now)
    assert used_within(uses, HOUR, moment) < limit
    assert moment == now or used_within(uses, HOUR, moment - timedelta(microseconds=1)) >= limit


def warm(first: int = 50, growth: float = 1.5, start: date = DAY_ONE) -> WarmUp:
    return WarmUp(start, first, growth, UTC)


def test_a_warm_up_grows_each_day_until_the_day_limit() -> None:
    assert ramp(warm(), DAY_ONE, 200, days=10) == [
        (DAY_ONE, 50),
        (DAY_ONE + DAY, 75),
        (DAY_ONE + 2 * DAY, 112),
        (DAY_ONE + 3 * DAY, 168),
    ]
    assert ramp(warm(), DAY_ONE + 3 * DAY, 200, days=10) == [(DAY_ONE + 3 * DAY, 168)]


def test_without_a_day_limit_it_ends_at_a_million() -> None:
    days = ramp(warm(growth=10), DAY_ONE, None, days=30)
    assert [count for _, count in days] == [50, 500, 5_000, 50_000, 500_000]


def test_before_its_first_day_as_much_goes_as_on_it() -> None:
    assert warm_up_allows(warm(), DAY_ONE - DAY, None) == 50
    assert ramp(warm(), DAY_ONE - 5 * DAY, None, days=1) == [(DAY_ONE, 50)]


@given(first=st.integers(1, WARM), growth=st.floats(1.05, 10), per_day=st.none() | st.integers(1, 2 * WARM))
def test_a_ramp_only_rises_and_ends_below_its_end(first: int, growth: float, per_day: int | None) -> None:
    end = min(per_day or WARM, WARM)
    days = [count for _, count in ramp(warm(first, growth), DAY_ONE, per_day, days=400)]
    assert days == sorted(days)
    assert len(days) < 400
    assert all(first <= count <= end for count in days)
    assert warm_up_allows(warm(first, growth), DAY_ONE + 4000 * DAY, per_day) is None


@pytest.mark.parametrize(("hour", "limit"), [(21, 50), (22, 75)])
def test_days_are_those_of_the_zone(hour: int, limit: int) -> None:
    athens = WarmUp(DAY_ONE, 50, 1.5, ZoneInfo("Europe/Athens"))
    assert daily_limit(None, athens, datetime(2026, 3, 2, hour, tzinfo=UTC)) == limit


def test_the_warm_up_makes_room_at_midnight_before_the_window_does() -> None:
    uses = [(minute_of(NOW), 50)]
    midnight = datetime(2026, 3, 3, tzinfo=UTC)
    assert daily_room_at(uses, None, warm(), NOW) == midnight
    assert daily_room_at(uses, 50, None, NOW) == minute_of(NOW) + DAY + MINUTE
    assert daily_room_at([(minute_of(NOW), 200)], None, warm(), NOW) == minute_of(NOW) + DAY + MINUTE


@given(count=st.integers(0, 2000), per_day=st.none() | st.integers(1, 3000), ago=st.integers(0, 1500))
def test_a_day_with_a_warm_up_always_has_room_again(count: int, per_day: int | None, ago: int) -> None:
    uses = [(minute_of(NOW - ago * MINUTE), count)]
    moment = daily_room_at(uses, per_day, warm(), NOW)
    assert NOW <= moment <= NOW + DAY + MINUTE
    limit = daily_limit(per_day, warm(), moment)
    assert limit is None or used_within(uses, DAY, moment) < limit
