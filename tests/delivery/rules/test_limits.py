"""How many messages the limits of an account or a domain allow, and when more."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.limits import (
    MINUTE,
    Bucket,
    LaneLimits,
    Used,
    WarmUp,
    again_at,
    allowed,
    pace,
    spread_due_times,
)

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(days=3)
WARM = WarmUp(NOW.date(), 20, 2.0, UTC)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def limits(rate: float | None = None, burst: int = 10, tokens: float = 0, **changes: Any) -> LaneLimits:
    return LaneLimits(Bucket(rate, burst, tokens, NOW), **changes)


NARROW: list[tuple[LaneLimits, Used, int | None]] = [
    (limits(), Used(9, 9, 9), None),
    (limits(rate=1.0, tokens=7), Used(), 7),
    (limits(per_hour=10), Used(hour=4, day=9), 6),
    (limits(per_hour=10), Used(hour=40), 0),
    (limits(per_day=10), Used(hour=1, day=9), 1),
    (limits(warm_up=WARM), Used(day=15), 5),
    (limits(warm_up=WARM, per_day=5), Used(day=3), 2),
    (limits(concurrency=3), Used(sending=1), 2),
    (limits(paused=True), Used(), 0),
    (limits(free_at=NOW + seconds(1)), Used(), 0),
    (limits(free_at=NOW), Used(), None),
    (limits(rate=0.0, tokens=7), Used(), 7),
    (limits(rate=1.0, tokens=7, per_hour=10, per_day=10, concurrency=3), Used(4, 9, 0), 1),
]


@pytest.mark.parametrize(("limit", "used", "count"), NARROW)
def test_the_narrowest_limit_counts(limit: LaneLimits, used: Used, count: int | None) -> None:
    assert allowed(limit, used, NOW) == count


def test_the_last_limit_in_the_way_says_when_it_goes_on() -> None:
    uses = [(NOW - 30 * MINUTE, 10)]
    hour = NOW + 31 * MINUTE
    assert again_at(limits(per_hour=10), Used(10, 10), uses, NOW) == hour
    assert again_at(limits(rate=0.1), Used(), (), NOW) == NOW + seconds(10)
    assert again_at(limits(rate=0.1, per_hour=10), Used(10, 10), uses, NOW) == hour
    assert (
        again_at(limits(per_hour=10, free_at=NOW + 40 * MINUTE), Used(10, 10), uses, NOW) == NOW + 40 * MINUTE
    )
    assert again_at(limits(concurrency=1), Used(sending=1), (), NOW) == NOW + seconds(1)


def test_what_is_shut_names_no_moment() -> None:
    assert again_at(limits(paused=True), Used(), (), NOW) is None
    assert again_at(limits(rate=0.0), Used(), (), NOW) is None


@given(
    rate=st.floats(0.05, 50),
    burst=st.integers(1, 30),
    pauses=st.lists(st.floats(0, 5), min_size=1, max_size=60),
)
def test_over_any_time_no_more_goes_than_burst_and_rate_allow(
    rate: float, burst: int, pauses: list[float]
) -> None:
    bucket, now, sent = Bucket(rate, burst, 0.0, NOW), NOW, 0
    for pause in pauses:
        now += seconds(pause)
        count = bucket.allows(now)
        assert count is not None
        assert count <= burst
        if count:
            bucket = Bucket(rate, burst, bucket.refilled(now) - count, now)
            sent += count
        else:
            moment = bucket.again_at(now)
            assert moment is not None
            assert moment > now
    assert sent <= burst + rate * (now - NOW).total_seconds() + 1e-6


@given(
    count=st.integers(0, 500),
    speed=st.floats(0.0001, 50),
    start=st.integers(0, 100_000),
    latest=st.integers(0, 90_000),
)
def test_all_that_is_put_off_comes_back_in_order_and_spread(
    count: int, speed: float, start: int, latest: int
) -> None:
    begin, end = NOW + seconds(start), NOW + seconds(latest)
    groups = list(spread_due_times(count, begin, speed, end))
    assert sum(number for number, _ in groups) == count
    assert len(groups) <= 20
    moments = [due for _, due in groups]
    assert moments == sorted(moments)
    assert all(begin <= due <= max(begin, end) for due in moments)
    before = 0
    for number, due in groups:
        # Not before its turn by the pace, unless the end cuts it.
        assert due >= min(begin + seconds(before / speed), end) - seconds(0.001)
        before += number


def test_the_pace_is_that_of_the_slowest_limit() -> None:
    assert pace(limits(rate=2.0, per_hour=3600), NOW) == 1
    assert pace(limits(per_day=86400 // 2), NOW) == 0.5
    assert pace(limits(warm_up=WARM), NOW) == 20 / 86400
    assert pace(limits(concurrency=2), NOW) == 10
    assert pace(limits(), NOW) == 50
