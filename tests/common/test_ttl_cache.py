"""A cache with expiry stays within its size."""

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from common.ttl_cache import TtlCache


def made(text: str) -> TtlCache[str]:
    shelf: TtlCache[str] = TtlCache(room=10, seconds=60, size=len)
    for letter in text:
        shelf.get(letter, partial(str.__mul__, letter, 3))
    return shelf


def test_what_stands_there_is_not_made_again() -> None:
    shelf = made("a")
    assert shelf.get("a", lambda: "made again") == "aaa"


def test_what_was_asked_for_longest_ago_goes_first() -> None:
    shelf = made("abcad")
    assert shelf.get("a", lambda: "made again") == "aaa"
    assert shelf.get("b", lambda: "new") == "new"


def test_after_its_time_it_is_made_again() -> None:
    now = [0.0]
    shelf: TtlCache[str] = TtlCache(room=10, seconds=60, size=len, clock=lambda: now[0])
    assert shelf.get("a", lambda: "old") == "old"
    now[0] = 59.0
    assert shelf.get("a", lambda: "new") == "old"
    now[0] = 60.0
    assert shelf.get("a", lambda: "new") == "new"


def test_what_is_larger_than_the_room_is_shown_and_not_kept() -> None:
    shelf = made("a")
    assert shelf.get("x", lambda: "x" * 11) == "x" * 11
    assert shelf.get("x", lambda: "again") == "again"
    assert shelf.get("a", lambda: "gone") == "aaa"


@given(st.lists(st.tuples(st.sampled_from("abcde"), st.integers(0, 12))))
def test_the_room_is_never_exceeded(asked: list[tuple[str, int]]) -> None:
    shelf: TtlCache[str] = TtlCache(room=10, seconds=0, size=len)
    for key, size in asked:
        assert shelf.get(key, partial(str.__mul__, "x", size)) == "x" * size
        assert 0 <= shelf.used <= 10
