"""Cursors and limits, as clients send them."""

import contextlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reader.rules.order import BadCursor, Key, PageRequest, Paging, limit_of, paging_of

MOMENTS = st.datetimes(timezones=st.just(UTC))
KEYS = st.builds(Key, MOMENTS, st.integers(1, 2**63 - 1))


@given(KEYS)
def test_a_cursor_holds_the_key_and_fits_into_any_address(key: Key) -> None:
    assert Key.read(str(key)) == key
    assert re.fullmatch(r"[A-Za-z0-9_-]+", str(key))


@given(st.lists(KEYS, max_size=5))
def test_newer_is_larger_and_of_one_moment_the_number_decides(keys: list[Key]) -> None:
    assert sorted(keys) == sorted(keys, key=lambda key: (key.at, key.place))


@given(st.text())
def test_what_is_no_cursor_is_refused_and_nothing_else_happens(text: str) -> None:
    with contextlib.suppress(BadCursor):
        assert Key.read(text)


@pytest.mark.parametrize("text", ["", "1", "x-1", "1-", "1-1-1", "9" * 30 + "-1", "1-" + "9" * 19, "١-1"])
def test_these_are_no_cursors(text: str) -> None:
    with pytest.raises(BadCursor):
        Key.read(text)


@pytest.mark.parametrize(
    ("text", "limit"),
    [("", 20), ("x", 20), ("0", 1), ("-5", 1), ("1", 1), ("100", 100), ("101", 100), ("9" * 40, 100)],
)
def test_a_limit_is_clamped(text: str, limit: int) -> None:
    assert limit_of(text) == limit


def keys(*numbers: int) -> list[Key]:
    return [Key(datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=one), one) for one in numbers]


class TestCursorsOfAPage:
    def test_nothing_found_has_none(self) -> None:
        assert paging_of(PageRequest(), []) == Paging()

    def test_the_next_page_begins_with_the_first_row_that_is_not_shown(self) -> None:
        three, two, one = keys(3, 2, 1)
        assert paging_of(PageRequest(limit=2), [three, two, one]) == Paging(str(three), str(one))
        assert paging_of(PageRequest(limit=3), [three, two, one]) == Paging(str(three))

    def test_a_page_that_was_come_to_leads_not_back_to_itself(self) -> None:
        two, one = keys(2, 1)
        assert paging_of(PageRequest(from_=two), [two, one]) == Paging()
        # The row at its start is gone: the page now has a page before it.
        assert paging_of(PageRequest(from_=two), [one]) == Paging(str(one))

    def test_at_the_end_of_a_window_there_is_neither(self) -> None:
        three, two, one = keys(3, 2, 1)
        window = PageRequest(newer_than=one, from_=three, limit=1)
        assert paging_of(window, [three, two]) == Paging(after=str(two))
        assert paging_of(PageRequest(newer_than=one, from_=two), [two]) == Paging()
