"""The polling interval of a shared feed, by its servers' choices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.rules.parse import LONGEST_INTERVAL, USUAL, Interval, shared_interval

CHOICES = st.lists(st.none() | st.integers(1, LONGEST_INTERVAL), max_size=6)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ([], USUAL),
        ([None, None], USUAL),
        ([5], Interval(5, 5)),
        ([120], Interval(10, 120)),
        ([120, 30], Interval(10, 30)),
        ([120, None], USUAL),
        ([30, None], Interval(10, 30)),
        ([5, None], Interval(5, 5)),
    ],
)
def test_the_most_eager_server_counts(chosen: list[int | None], expected: Interval) -> None:
    assert shared_interval(chosen) == expected


@given(CHOICES)
def test_no_server_waits_longer_than_it_chose(chosen: list[int | None]) -> None:
    found = shared_interval(chosen)
    assert 1 <= found.shortest <= found.longest
    assert found.shortest <= USUAL.shortest
    assert all(found.longest <= (minutes or USUAL.longest) for minutes in chosen)
