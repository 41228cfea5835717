"""Sliding windows over counts per minute, and the warm-up that raises the daily limit.

Which rows a worker may claim, and the token bucket of rates.
"""

from collections import Counter
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from delivery.rules.limits import (
    CLAIM_SECONDS,
    DAY,
    HOUR,
    WARM,
    Bucket,
    WarmUp,
    claimable,
    daily_limit,
    daily_room_at,
    minute_of,
    ramp,
    room_at,
    used_within,
    warm_up_allows,
)

LANE_NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
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


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def test_a_claim_is_what_the_connections_send_in_six_seconds() -> None:
    assert claimable(10) == 10 * CLAIM_SECONDS
    assert claimable(10, expected=2.5) == 25 * CLAIM_SECONDS


def test_without_a_rate_a_bucket_sets_no_limit() -> None:
    bucket = Bucket(None, 10, 0.0, LANE_NOW)
    assert (bucket.allows(LANE_NOW), bucket.again_at(LANE_NOW)) == (None, None)


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_a_rate_of_nothing_allows_nothing_and_names_no_time(rate: float) -> None:
    bucket = Bucket(rate, 10, 0.0, LANE_NOW)
    assert (bucket.allows(LANE_NOW), bucket.again_at(LANE_NOW)) == (0, None)


def test_after_a_rest_a_burst_may_go_and_no_more() -> None:
    assert Bucket(2.0, 7, 0.0, LANE_NOW).allows(LANE_NOW + timedelta(days=1)) == 7


def test_an_empty_bucket_says_when_the_next_token_is_there() -> None:
    empty = Bucket(0.5, 10, 0.25, LANE_NOW)
    again_at = empty.again_at(LANE_NOW)
    assert again_at == LANE_NOW + seconds(1.5)
    assert empty.allows(again_at) == 1


def test_a_burst_of_none_still_lets_one_go() -> None:
    assert Bucket(1.0, 0, 0.0, LANE_NOW).allows(LANE_NOW + seconds(10)) == 1


def test_a_clock_that_went_back_takes_no_tokens_away() -> None:
    assert Bucket(1.0, 10, 3.0, LANE_NOW).refilled(LANE_NOW - seconds(60)) == 3.0


@example(rate=49.99999999999999, burst=1, pauses=[0.01, 0.01])
@given(
    rate=st.floats(0.05, 50),
    burst=st.integers(1, 30),
    pauses=st.lists(st.floats(0, 5), min_size=1, max_size=60),
)
def test_over_any_time_no_more_goes_than_burst_and_rate_allow(
    rate: float, burst: int, pauses: list[float]
) -> None:
    bucket, now, sent = Bucket(rate, burst, 0.0, LANE_NOW), LANE_NOW, 0
    for pause in pauses:
        now += seconds(pause)
        allowed = bucket.allows(now)
        assert allowed is not None
        assert allowed <= burst
        if allowed:
            bucket = Bucket(rate, burst, bucket.refilled(now) - allowed, now)
            sent += allowed
        else:
            again_at = bucket.again_at(now)
            assert again_at is not None
            assert again_at > now
    assert sent <= burst + rate * (now - LANE_NOW).total_seconds() + 1e-6
