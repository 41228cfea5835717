"""The ids of posts and streams in the Google Reader API."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reader.rules.google_names import POST_PREFIX, StreamName, post_key, post_name, stream_name
from reader.rules.order import LARGEST_KEY


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
