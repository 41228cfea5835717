"""What a lane allows: rate, burst, spacing, room."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from delivery.rules.lanes import CLAIM_SECONDS, LaneState, allowance

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def lane(**changes: Any) -> LaneState:
    usual: dict[str, Any] = {
        "concurrency": 10, "rate": None, "burst": 10, "tokens": 0.0,
        "refilled_at": NOW, "free_at": None, "paused": False,
    }  # fmt: skip
    return LaneState(**{**usual, **changes})


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def test_without_a_rate_a_claim_is_what_the_connections_send_in_thirty_seconds() -> None:
    assert allowance(lane(), NOW).count == 10 * CLAIM_SECONDS
    assert allowance(lane(), NOW, in_flight=250).count == 50
    assert allowance(lane(), NOW, in_flight=400).count == 0


@pytest.mark.parametrize("changes", [{"paused": True}, {"concurrency": 0}, {"rate": 0.0}, {"rate": -1.0}])
def test_a_lane_that_is_shut_allows_nothing_and_names_no_time(changes: dict[str, Any]) -> None:
    allowed = allowance(lane(**changes), NOW)
    assert (allowed.count, allowed.again_at) == (0, None)


def test_a_lane_that_rests_says_until_when() -> None:
    resting = lane(free_at=NOW + seconds(5))
    assert allowance(resting, NOW).again_at == NOW + seconds(5)
    assert allowance(resting, NOW + seconds(5)).count > 0


def test_after_a_rest_a_burst_may_go_and_no_more() -> None:
    assert allowance(lane(rate=2.0, burst=7), NOW + timedelta(days=1)).count == 7


def test_an_empty_bucket_says_when_the_next_token_is_there() -> None:
    empty = lane(rate=0.5, tokens=0.25)
    again_at = allowance(empty, NOW).again_at
    assert again_at == NOW + seconds(1.5)
    assert allowance(empty, again_at).count == 1


def test_a_burst_of_none_still_lets_one_go() -> None:
    assert allowance(lane(rate=1.0, burst=0), NOW + seconds(10)).count == 1


def test_a_clock_that_went_back_takes_no_tokens_away() -> None:
    assert lane(rate=1.0, tokens=3.0).bucket.refilled(NOW - seconds(60)) == 3.0


@example(rate=49.99999999999999, burst=1, pauses=[0.01, 0.01])
@given(
    rate=st.floats(0.05, 50),
    burst=st.integers(1, 30),
    pauses=st.lists(st.floats(0, 5), min_size=1, max_size=60),
)
def test_over_any_time_no_more_goes_than_burst_and_rate_allow(
    rate: float, burst: int, pauses: list[float]
) -> None:
    tokens, refilled_at, now, sent = 0.0, NOW, NOW, 0
    for pause in pauses:
        now += seconds(pause)
        state = lane(rate=rate, burst=burst, tokens=tokens, refilled_at=refilled_at)
        allowed = allowance(state, now)
        assert allowed.count <= burst
        if allowed.count:
            tokens, refilled_at = allowed.tokens - allowed.count, now
            sent += allowed.count
        else:
            assert allowed.again_at is not None
            assert allowed.again_at > now
    assert sent <= burst + rate * (now - NOW).total_seconds() + 1e-6


@given(in_flight=st.integers(0, 1000), concurrency=st.integers(0, 50))
def test_no_worker_holds_more_than_it_can_send_within_its_lease(in_flight: int, concurrency: int) -> None:
    allowed = allowance(lane(concurrency=concurrency), NOW, in_flight=in_flight)
    assert allowed.count == max(concurrency * CLAIM_SECONDS - in_flight, 0)
