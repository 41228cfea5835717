"""The limits of sign-up mails: pure."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.limits import (
    PERIODS,
    USUAL_LIMITS,
    Limit,
    counted_as,
    counts_from,
    is_reached,
    parse_limits,
    slice_of,
)
from tests.subscriptions.rules.strategies import moments

HOUR, DAY = PERIODS["hour"], PERIODS["day"]
limits = st.builds(Limit, st.just("ip"), st.integers(0, 12), st.sampled_from([HOUR, DAY]))


def test_the_usual_limits_hold_for_what_is_not_named() -> None:
    assert parse_limits("") == parse_limits(USUAL_LIMITS)
    named = parse_limits("ip=3/day, newsletter = 7 / hour")
    assert [limit for limit in named if limit.scope == "ip"] == [Limit("ip", 3, DAY)]
    assert Limit("newsletter", 7, HOUR) in named
    assert Limit("address", 10, DAY) in named


@pytest.mark.parametrize(
    "text", ["ip", "ip=10", "ip=ten/day", "ip=-1/day", "ip=1/week", "reader=1/day", "ip=9999999999/day"]
)
def test_what_is_no_limit_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_limits(text)


@given(limits, moments)
def test_a_moment_lies_in_its_slice(limit: Limit, moment: datetime) -> None:
    began = slice_of(limit, moment)
    assert began <= moment < began + limit.slice
    assert slice_of(limit, began) == began


@given(limits, moments)
def test_all_that_is_younger_than_the_period_counts(limit: Limit, moment: datetime) -> None:
    assert counts_from(limit, moment) <= slice_of(limit, moment - limit.period + timedelta(microseconds=1))


@given(limits, st.lists(st.integers(0, 3 * 86400), max_size=150))
def test_no_period_wherever_it_begins_holds_more(limit: Limit, seconds: list[int]) -> None:
    begin = datetime(2026, 3, 2, tzinfo=UTC)
    taken: list[datetime] = []
    for now in sorted(begin + timedelta(seconds=second) for second in seconds):
        used = sum(slice_of(limit, moment) >= counts_from(limit, now) for moment in taken)
        if not is_reached(limit, used):
            taken.append(now)
    for moment in taken:
        assert sum(moment <= other < moment + limit.period for other in taken) <= limit.most


@given(limits, moments)
def test_after_a_period_and_a_slice_nothing_counts_any_more(limit: Limit, moment: datetime) -> None:
    assert counts_from(limit, moment + limit.period + limit.slice) > slice_of(limit, moment)


@pytest.mark.parametrize(
    "core",
    ["ada@gmail.com", "a.d.a@gmail.com", "ada+x@gmail.com", "A.da+x+y@GoogleMail.com", "ada.@gmail.com"],
)
def test_the_spellings_of_one_mailbox_count_together(core: str) -> None:
    assert counted_as(core) == "ada@gmail.com"


def test_different_people_count_apart() -> None:
    assert (
        len(
            {counted_as(core) for core in ("ada@a.example", "ada@b.example", "bob@a.example", "+x@a.example")}
        )
        == 4
    )
