"""Limits, and the slices of time that count: pure."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.rates import DAY, HOUR, Limit, parse_limits
from subscriptions.rules.limits import USUAL_LIMITS
from tests.subscriptions.rules.strategies import moments

limits = st.builds(Limit, st.just("ip"), st.integers(0, 12), st.sampled_from([HOUR, DAY]))


def test_the_usual_limits_hold_for_what_is_not_named() -> None:
    assert parse_limits("", USUAL_LIMITS) == parse_limits(USUAL_LIMITS)
    named = parse_limits("ip=3/day, newsletter = 7 / hour", USUAL_LIMITS)
    assert [limit for limit in named if limit.name == "ip"] == [Limit("ip", 3, DAY)]
    assert Limit("newsletter", 7, HOUR) in named
    assert Limit("address", 10, DAY) in named


@pytest.mark.parametrize(
    "text", ["ip", "ip=10", "ip=ten/day", "ip=-1/day", "ip=1/week", "reader=1/day", "ip=9999999999/day"]
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text.removesuffix("=1/day")):
        parse_limits(text, USUAL_LIMITS)


@given(limits, moments)
def test_a_moment_lies_in_its_slice(limit: Limit, moment: datetime) -> None:
    began = limit.slice_of(moment)
    assert began <= moment < began + limit.slice
    assert limit.slice_of(began) == began


@given(limits, moments)
def test_all_that_is_younger_than_the_period_counts(limit: Limit, moment: datetime) -> None:
    youngest = moment - timedelta(seconds=limit.seconds) + timedelta(microseconds=1)
    assert limit.counts_from(moment) <= limit.slice_of(youngest)


@given(limits, st.lists(st.integers(0, 3 * 86400), max_size=150))
def test_no_period_wherever_it_begins_holds_more(limit: Limit, seconds: list[int]) -> None:
    begin = datetime(2026, 3, 2, tzinfo=UTC)
    taken: list[datetime] = []
    for now in sorted(begin + timedelta(seconds=second) for second in seconds):
        used = sum(limit.slice_of(moment) >= limit.counts_from(now) for moment in taken)
        if used < limit.most:
            taken.append(now)
    for moment in taken:
        period = timedelta(seconds=limit.seconds)
        assert sum(moment <= other < moment + period for other in taken) <= limit.most


@given(limits, moments)
def test_after_a_period_and_a_slice_nothing_counts_any_more(limit: Limit, moment: datetime) -> None:
    later = moment + timedelta(seconds=limit.seconds) + limit.slice
    assert limit.counts_from(later) > limit.slice_of(moment)
