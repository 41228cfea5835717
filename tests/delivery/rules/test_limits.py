"""How many messages the limits of an account or a domain allow, and when more.

A serial lane sends in the order of creation; a message not yet due is waited for at most an hour.
Workers share a lane's connections: never too many in total, and each gets its share.
A lane that must slow down halves its rate, and recovers by doubling it.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.limits import (
    HEAD_WAITS,
    MINUTE,
    Bucket,
    LaneLimits,
    Queued,
    Used,
    WarmUp,
    after_success,
    again_at,
    allowed,
    pace,
    serial_next,
    share,
    slowed,
    spread_due_times,
)

counts, failures = st.integers(0, 10_000), st.integers(0, 10_000)
turns = st.lists(st.tuples(st.integers(0, 6), st.sampled_from(["ask", "ask", "ask", "leave"])), max_size=80)
STATES = st.sampled_from(["queued", "deferred"])
MESSAGES = st.lists(st.tuples(STATES, st.integers(-90, 90), st.integers(0, 180)), max_size=8)
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


def queued(pk: int, *, state: str = "queued", due: int = 0, age: int = 10) -> Queued:
    """Return a row that is `due` in so many minutes and `age` minutes old."""
    return Queued(pk, state, NOW + due * MINUTE, NOW - age * MINUTE)


def test_the_head_goes_first() -> None:
    assert serial_next([queued(1), queued(2)], NOW) == 1


def test_nothing_goes_while_one_is_being_sent() -> None:
    assert serial_next([queued(1), queued(2, state="sending")], NOW) is None


def test_a_head_that_is_put_off_holds_the_others_back() -> None:
    assert serial_next([queued(1, state="deferred", due=5), queued(2)], NOW) is None


def test_a_head_that_is_put_off_is_passed_after_an_hour() -> None:
    assert serial_next([queued(1, state="deferred", due=5, age=60), queued(2)], NOW) == 2


def test_a_head_that_failed_before_goes_first_when_it_is_due() -> None:
    assert serial_next([queued(1, state="deferred", age=60), queued(2)], NOW) == 1
    assert serial_next([queued(1, state="deferred", age=6_000), queued(2, age=90)], NOW) == 1


def test_a_passed_head_goes_as_soon_as_it_is_due() -> None:
    late = [queued(1, state="deferred", age=90, due=1), queued(2, state="deferred", age=80)]
    assert serial_next(late, NOW) == 2
    assert serial_next(late, NOW + MINUTE) == 1


def test_a_head_that_merely_waited_long_keeps_its_place() -> None:
    assert serial_next([queued(1, age=600), queued(2, age=500)], NOW) == 1


def test_an_empty_lane_sends_nothing() -> None:
    assert serial_next([], NOW) is None


@given(MESSAGES)
def test_only_old_ones_whose_time_has_not_come_are_passed(rows: list[tuple[str, int, int]]) -> None:
    queue = [queued(pk, state=state, due=due, age=age) for pk, (state, due, age) in enumerate(rows)]
    chosen = serial_next(queue, NOW)
    if chosen is None:
        head_waits = any(row.due_at > NOW and NOW - row.created_at < HEAD_WAITS for row in queue)
        assert head_waits or not any(row.due_at <= NOW for row in queue)
        return
    assert queue[chosen].due_at <= NOW
    passed = queue[:chosen]
    assert all(row.due_at > NOW and NOW - row.created_at >= HEAD_WAITS for row in passed)


@given(MESSAGES)
def test_every_message_goes_in_the_end(rows: list[tuple[str, int, int]]) -> None:
    """In any order, sending one after the other empties the lane within hours."""
    queue = [queued(pk, state=state, due=due, age=age) for pk, (state, due, age) in enumerate(rows)]
    now, end = NOW, NOW + timedelta(hours=4)
    while queue and now < end:
        chosen = serial_next(queue, now)
        queue = [row for row in queue if row.pk != chosen]
        now += MINUTE if chosen is None else timedelta(0)
    assert queue == []


def test_a_new_worker_waits_until_the_others_have_shrunk() -> None:
    assert share(10, []) == 10
    assert share(10, [10]) == 0
    assert share(10, [0]) == 5
    assert share(10, [5]) == 5


@given(turns=turns, concurrency=st.integers(1, 100))
def test_there_are_never_more_connections_than_the_lane_has(
    turns: list[tuple[int, str]], concurrency: int
) -> None:
    held: dict[int, int] = {}
    for worker, turn in turns:
        held.pop(worker, None)
        if turn == "ask":
            held[worker] = share(concurrency, held.values())
        assert sum(held.values()) <= concurrency


@given(workers=st.integers(1, 12), concurrency=st.integers(1, 100))
def test_after_one_renewal_of_each_all_is_given_out_and_nearly_even(workers: int, concurrency: int) -> None:
    held: dict[int, int] = {}
    for worker in range(workers):
        others = [count for other, count in held.items() if other != worker]
        held[worker] = share(concurrency, others)
    for _ in range(2):
        for worker in range(workers):
            held[worker] = share(concurrency, [count for other, count in held.items() if other != worker])
    assert sum(held.values()) == concurrency
    assert max(held.values()) <= -(-concurrency // workers)


@given(others=st.lists(st.integers(0, 100), max_size=5), concurrency=st.integers(1, 100))
def test_a_lane_that_became_narrower_takes_from_all(others: list[int], concurrency: int) -> None:
    assert 0 <= share(concurrency, others) <= concurrency


def test_each_failure_halves_what_may_go() -> None:
    assert [slowed(300, level) for level in range(5)] == [300, 150, 75, 37, 18]


@given(counts, failures)
def test_a_slow_lane_sends_less_and_never_nothing(count: int, failures: int) -> None:
    left = slowed(count, failures)
    assert min(count, 1) <= left <= count
    assert slowed(count, failures + 1) <= left


@given(failures)
def test_successes_lead_back_to_full_speed_step_by_step(failures: int) -> None:
    after = after_success(failures, serial=False, is_idle=False)
    assert after == max(failures - 1, 0)
    assert after_success(failures, serial=True, is_idle=False) == 0
    assert after_success(failures, serial=False, is_idle=True) == 0
