"""Which rows a worker may claim, and the token bucket of rates."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from delivery.rules.limits import CLAIM_SECONDS, Bucket, claimable

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def seconds(count: float) -> timedelta:
    return timedelta(seconds=count)


def test_a_claim_is_what_the_connections_send_in_six_seconds() -> None:
    assert claimable(10) == 10 * CLAIM_SECONDS
    assert claimable(10, expected=2.5) == 25 * CLAIM_SECONDS


def test_without_a_rate_a_bucket_sets_no_limit() -> None:
    bucket = Bucket(None, 10, 0.0, NOW)
    assert (bucket.allows(NOW), bucket.again_at(NOW)) == (None, None)


@pytest.mark.parametrize("rate", [0.0, -1.0])
def test_a_rate_of_nothing_allows_nothing_and_names_no_time(rate: float) -> None:
    bucket = Bucket(rate, 10, 0.0, NOW)
    assert (bucket.allows(NOW), bucket.again_at(NOW)) == (0, None)


def test_after_a_rest_a_burst_may_go_and_no_more() -> None:
    assert Bucket(2.0, 7, 0.0, NOW).allows(NOW + timedelta(days=1)) == 7


def test_an_empty_bucket_says_when_the_next_token_is_there() -> None:
    empty = Bucket(0.5, 10, 0.25, NOW)
    again_at = empty.again_at(NOW)
    assert again_at == NOW + seconds(1.5)
    assert empty.allows(again_at) == 1


def test_a_burst_of_none_still_lets_one_go() -> None:
    assert Bucket(1.0, 0, 0.0, NOW).allows(NOW + seconds(10)) == 1


def test_a_clock_that_went_back_takes_no_tokens_away() -> None:
    assert Bucket(1.0, 10, 3.0, NOW).refilled(NOW - seconds(60)) == 3.0


@example(rate=49.99999999999999, burst=1, pauses=[0.01, 0.01])
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
    assert sent <= burst + rate * (now - NOW).total_seconds() + 1e-6
