"""Parts of a text that are omitted if there is no room."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.truncation import DoesNotFit, FittingPart, fit_parts, packed

TITLE = FittingPart("A title of some words", cuttable=True)
PARTS = st.builds(
    FittingPart, st.text("ab \n", max_size=30), cuttable=st.booleans(), optional=st.integers(0, 3)
)


def fitted(most: int, *parts: FittingPart) -> str:
    return fit_parts(parts, lambda text: len(text) <= most)


def test_what_must_be_there_goes_first() -> None:
    tags = [FittingPart(f" #{tag}", optional=1) for tag in ("bees", "honey")]
    assert fitted(100, TITLE, *tags) == "A title of some words #bees #honey"
    assert fitted(30, TITLE, *tags) == "A title of some words #bees"
    assert fitted(21, TITLE, *tags) == "A title of some words"
    assert fitted(10, TITLE, *tags) == "A title…"


def test_a_lower_number_goes_before_a_higher_wherever_it_stands() -> None:
    summary = FittingPart("\nA summary of it", cuttable=True, optional=2)
    tag = FittingPart("\n#bees", optional=1)
    assert fitted(100, TITLE, summary, tag) == "A title of some words\nA summary of it\n#bees"
    assert fitted(38, TITLE, summary, tag) == "A title of some words\nA summary…\n#bees"
    assert fitted(28, TITLE, summary, tag) == "A title of some words\n#bees"


def test_after_one_without_room_none_of_its_number_follows() -> None:
    lines = [FittingPart(f"\n• {line}", optional=1) for line in ("one", "a very long line", "two")]
    assert fitted(40, TITLE, *lines) == "A title of some words\n• one"


def test_an_optional_link_that_is_left_out_leads_nowhere() -> None:
    link = FittingPart(" https://x.example/", link="https://x.example/", optional=1)
    with pytest.raises(DoesNotFit):
        fitted(5, FittingPart("whole and long"), link)
    assert fitted(14, FittingPart("whole and long"), link) == "whole and long"


@given(st.lists(PARTS, max_size=8), st.integers(0, 60))
def test_whatever_the_parts_it_fits_and_keeps_what_must_stay(parts: list[FittingPart], most: int) -> None:
    try:
        made = fitted(most, *parts)
    except DoesNotFit:
        assert sum(len(part.text) for part in parts if not part.cuttable and not part.optional) > most
        return
    assert len(made) <= most
    whole = "".join(part.text for part in parts)
    assert made == whole or len(whole) > most or "…" in made


@given(st.text("ab", max_size=20), st.lists(st.text("ab ", min_size=1, max_size=20)), st.integers(1, 5))
def test_lines_are_packed_in_their_order(first: str, lines: list[str], most: int) -> None:
    texts = packed(first, lines, lambda text: len(text) <= 20, most=most)
    assert all(len(text) <= 20 for text in texts)
    assert len(texts) <= most
    made = "\n".join(texts).split("\n")
    assert made == [first, *lines][: len(made)]
    assert len(made) == 1 + len(lines) or len(texts) == most
