"""Tags: their names, the cells of lists, and segments."""

import pytest

from subscriptions.rules.tags import BadTag, check_segment, tags_of_cell, tidy_tags


@pytest.mark.parametrize(
    ("cell", "tags"),
    [
        ("", ()),
        ("press", ("press",)),
        ("press, Friends of the harbour", ("press", "Friends of the harbour")),
        ("press;board", ("press", "board")),
        ('"VIP","Old customer"', ("VIP", "Old customer")),  # Mailchimp
        ('["a", "b"]', ("a", "b")),
        ("[a, b]", ("a", "b")),
        ("News, news,NEWS", ("News",)),
        (" , ,", ()),
        ("first\tsecond", ("first second",)),
    ],
)
def test_a_cell_names_its_tags_however_programs_separate_them(cell: str, tags: tuple[str, ...]) -> None:
    assert tags_of_cell(cell) == tags


@pytest.mark.parametrize("cell", ["x" * 101, ",".join(map(str, range(51))), '["a,b"]'])
def test_a_cell_that_cannot_be_tags_is_refused(cell: str) -> None:
    with pytest.raises(BadTag):
        tags_of_cell(cell)


def test_tags_are_the_same_whatever_their_capitals() -> None:
    assert tidy_tags(["Straße", "STRASSE", " news "]) == ("Straße", "news")


def test_a_segment_that_nobody_can_be_in_is_refused() -> None:
    check_segment(any_of=["a", "b"], none_of=["A"])
    with pytest.raises(BadTag):
        check_segment(any_of=["a"], none_of=["A"])
    with pytest.raises(BadTag):
        check_segment(any_of=map(str, range(21)))
