"""Refusals are counted by the minute, and expire."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from channels.rules.meaning import Breaker, Recent, is_too_much, with_refusals
from tests.factories import NOW

TEN_MINUTES = timedelta(minutes=10)
BREAKER = Breaker("x", "X", refusals=20, within=TEN_MINUTES, why="")


@given(st.lists(st.tuples(st.integers(0, 3600), st.integers(1, 9)), max_size=30))
def test_those_of_the_last_minutes_count_and_no_others(events: list[tuple[int, int]]) -> None:
    recent: Recent = []
    events.sort()
    for second, number in events:
        recent = with_refusals(recent, number, NOW + timedelta(seconds=second), within=TEN_MINUTES)
    last = events[-1][0] if events else 0
    surely = sum(number for second, number in events if last - second < 540)
    perhaps = sum(number for second, number in events if last - second < 660)
    assert surely <= sum(number for _, number in recent) <= perhaps
    assert len(recent) <= 11
    assert is_too_much(recent, BREAKER) == (sum(number for _, number in recent) >= 20)


def test_tried_slowly_it_cannot_open_again_by_itself() -> None:
    assert BREAKER.within / BREAKER.pace == BREAKER.refusals / 2
