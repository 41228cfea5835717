"""Positions of posts, words, and undo."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.edits import (
    MOST_STEPS,
    CannotEdit,
    Step,
    Wording,
    check_wording,
    fingerprint,
    in_places,
    merge_wording,
    moved,
    shown_before_undo,
    with_step,
)

NOTES = st.sampled_from(["", "a", "b\nc", "d"])
WORDINGS = st.builds(Wording, NOTES, NOTES, NOTES)


def test_posts_without_a_place_come_after_those_with_one_as_they_were() -> None:
    assert in_places([9, 1, 8, 2], {1: 1, 2: 0, 9: None}) == [2, 1, 9, 8]


@pytest.mark.parametrize(
    ("way", "order"), [("up", [2, 1, 3]), ("down", [1, 3, 2]), ("first", [2, 1, 3]), ("last", [1, 3, 2])]
)
def test_a_post_moves(way: str, order: list[int]) -> None:
    assert moved([1, 2, 3], 2, way) == order


def test_at_an_end_it_stays() -> None:
    assert moved([1, 2], 1, "up") == [1, 2]
    assert moved([1, 2], 2, "down") == [1, 2]


@pytest.mark.parametrize(
    ("after", "order"), [(0, [3, 1, 2]), (1, [1, 3, 2]), (2, [1, 2, 3]), (3, [1, 2, 3]), (9, [1, 2, 3])]
)
def test_a_post_is_put_after_another_or_stays_where_that_has_gone(after: int, order: list[int]) -> None:
    assert moved([1, 2, 3], 3, after) == order


@pytest.mark.parametrize(("key", "way"), [(7, "up"), (1, "sideways")])
def test_what_is_not_there_and_no_way_are_refused(key: int, way: str) -> None:
    with pytest.raises(CannotEdit):
        moved([1, 2], key, way)


@pytest.mark.parametrize("field", ["subject", "note_top", "note_foot"])
def test_words_that_are_too_long_are_refused_at_their_field(field: str) -> None:
    with pytest.raises(CannotEdit) as refused:
        check_wording(Wording(**{field: "x" * 10_001}))
    assert refused.value.field == field


def test_the_oldest_steps_are_forgotten() -> None:
    steps: list[Step] | None = None
    for number in range(MOST_STEPS + 2):
        steps = with_step(steps, "out", str(number), {"item": number})
    assert steps is not None
    assert [step["said"] for step in steps] == [str(number) for number in range(2, MOST_STEPS + 2)]


@given(WORDINGS, WORDINGS, WORDINGS)
def test_words_that_two_people_change_are_merged_field_by_field(
    shown: Wording, typed: Wording, current: Wording
) -> None:
    sides = [
        tuple(getattr(each, name) for each in (shown, typed, current))
        for name in ("subject", "note_top", "note_foot")
    ]
    if any(was != mine != theirs != was for was, mine, theirs in sides):
        with pytest.raises(CannotEdit, match="Somebody else has changed"):
            merge_wording(typed, current, fingerprint(shown))
        return
    wanted = [theirs if mine == was else mine for was, mine, theirs in sides]
    assert merge_wording(typed, current, fingerprint(shown)) == Wording(*wanted)


@given(WORDINGS, WORDINGS, WORDINGS)
def test_words_typed_before_an_undo_replace_what_it_restores(
    shown: Wording, typed: Wording, restored: Wording
) -> None:
    seen = shown_before_undo(typed, restored, fingerprint(shown))
    merged = merge_wording(typed, restored, seen)
    for name in ("subject", "note_top", "note_foot"):
        is_typed = getattr(typed, name) != getattr(shown, name)
        assert getattr(merged, name) == getattr(typed if is_typed else restored, name)


def test_a_browsers_line_ends_are_no_change_and_an_unknown_page_saves_all() -> None:
    stored = Wording("S", "one\ntwo", "")
    assert merge_wording(Wording("S", "one\r\ntwo", ""), stored, fingerprint(stored)) == stored
    for unknown in ("", "x", "a-b-c-d", "\0"):
        assert merge_wording(Wording("T", "mine", ""), stored, unknown) == Wording("T", "mine", "")
