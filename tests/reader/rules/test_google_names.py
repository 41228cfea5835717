"""The ids of posts and streams in the Google Reader API.

Cursors and limits, as clients send them.
"""

import contextlib
import re
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reader.rules.google_names import POST_PREFIX, StreamName, post_key, post_name, stream_name
from reader.rules.order import LARGEST_KEY, BadCursor, Key, PageRequest, Paging, limit_of, paging_of

MOMENTS = st.datetimes(timezones=st.just(UTC))
KEYS = st.builds(Key, MOMENTS, st.integers(1, 2**63 - 1))


@given(st.integers(1, LARGEST_KEY))
def test_each_form_of_a_name_leads_to_the_post(key: int) -> None:
    for name in (post_name(key), f"{POST_PREFIX}{key:016X}", str(key)):
        assert post_key(name) == key, name


@given(st.integers(1, 2**52))
def test_sixteen_hex_digits_alone_are_a_name_too(key: int) -> None:
    assert post_key(f"{key:016x}") == key


@pytest.mark.parametrize(
    "name",
    [
        "",
        "0",
        "-1",
        "x",
        POST_PREFIX,
        f"{POST_PREFIX}{1:017x}",
        f"{POST_PREFIX}{0:016x}",
        f"{POST_PREFIX}8000000000000000",
        "9" * 19,
        "9" * 30,
        "²",
    ],
)
def test_what_is_no_name_of_ours_leads_to_nothing(name: str) -> None:
    assert post_key(name) is None


@given(st.text(max_size=60))
def test_no_text_is_too_much(text: str) -> None:
    post_key(text)
    stream_name(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("feed/12", StreamName("feed", "12")),
        ("feed/feed/12", StreamName("feed", "12")),
        ("feed/https://e.example/a?b=/c", StreamName("feed", "https://e.example/a?b=/c")),
        ("user/-/label/Bücher / Meer", StreamName("label", "Bücher / Meer")),
        ("user/1005921515/label/News", StreamName("label", "News")),
        ("user/-/state/com.google/reading-list", StreamName("state", "reading-list")),
        ("user//state/com.google/starred", StreamName("state", "starred")),
        ("reading-list", StreamName("state", "reading-list")),
        ("user/-/state/com.google/", None),
        ("user/-/label/", None),
        ("feed/", None),
        ("", None),
    ],
)
def test_streams_are_feeds_folders_and_states(text: str, name: StreamName | None) -> None:
    assert stream_name(text) == name


@pytest.mark.parametrize("key", [1, 26, 4_660, 2**63 - 1])
def test_the_zeros_at_the_beginning_of_hex_digits_may_be_left_out(key: int) -> None:
    assert post_key(f"{POST_PREFIX}{key:x}") == post_key(f"{POST_PREFIX}{key:X}") == key


@pytest.mark.parametrize(
    ("name", "key"), [("1f", 31), ("12", 12), ("00000000000012", 12), ("1000000000000000", 10**15)]
)
def test_digits_alone_are_decimal_unless_they_are_padded(name: str, key: int) -> None:
    assert post_key(name) == key


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
