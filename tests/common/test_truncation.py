"""Texts cut to a service's limit.

Parts of a text that are omitted if there is no room.
"""

import time
import unicodedata
from collections.abc import Callable

import grapheme
import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.http.links import graphemes, within
from common.truncation import DoesNotFit, FittingPart, cut_at_word, cut_to, fit_parts, packed, plain_line

TITLE = FittingPart("A title of some words", cuttable=True)
PARTS = st.builds(
    FittingPart, st.text("ab \n", max_size=30), cuttable=st.booleans(), optional=st.integers(0, 3)
)
FAMILY = "👩‍👩‍👧"
LINK = "https://blog.example/a/very/long/path/that/would/not/fit/otherwise?with=query&and=more"
WORD = st.sampled_from(["a", "Wörter", FAMILY, "日本語" * 20, LINK, "@ada@host.example", "–"])


def fitting(most: int) -> Callable[[str], bool]:
    return within((graphemes, most))


def test_what_fits_is_left_alone() -> None:
    parts = [FittingPart("New: "), FittingPart("a  title ", cuttable=True), FittingPart(LINK)]
    assert fit_parts(parts, fitting(500)) == f"New: a  title {LINK}"


def test_a_long_title_is_cut_at_a_word_before_the_link() -> None:
    made = fit_parts(
        [FittingPart("New: "), FittingPart("one two three four", cuttable=True), FittingPart(" x")],
        fitting(19),
    )
    assert made == "New: one two… x"


def test_a_text_without_spaces_is_cut_between_graphemes() -> None:
    assert fit_parts([FittingPart(FAMILY * 50, cuttable=True)], fitting(10)) == FAMILY * 9 + "…"


def test_a_run_on_word_after_others_is_used_to_the_end() -> None:
    made = fit_parts([FittingPart("日本 " + "語" * 400, cuttable=True)], fitting(100))
    assert grapheme.length(made) == 100


def test_a_link_in_a_title_goes_whole() -> None:
    made = fit_parts([FittingPart(f"read {LINK} now", cuttable=True)], fitting(40))
    assert made == "read…"


def test_the_longest_part_is_cut_first() -> None:
    made = fit_parts(
        [
            FittingPart("one two three", cuttable=True),
            FittingPart(", by "),
            FittingPart("Ada", cuttable=True),
        ],
        fitting(17),
    )
    assert made == "one two…, by Ada"


def test_what_may_not_be_cut_and_is_too_long_is_an_error() -> None:
    with pytest.raises(DoesNotFit, match="does not fit"):
        fit_parts([FittingPart("x", cuttable=True), FittingPart("y" * 21)], fitting(20))


def test_a_huge_title_takes_no_long_time() -> None:
    zalgo, begun = "a" + "\u0301" * 500_000, time.process_time()
    made = fit_parts(
        [FittingPart(zalgo, cuttable=True), FittingPart("b" * 1_000_000, cuttable=True)], fitting(500)
    )
    assert graphemes(made) <= 500
    assert time.process_time() - begun < 5


@given(st.lists(WORD, max_size=60), st.integers(len(LINK) + 10, 300))
def test_the_limit_holds_and_what_is_fixed_stays(words: list[str], characters: int) -> None:
    made = fit_parts(
        [FittingPart("New: "), FittingPart(" ".join(words), cuttable=True), FittingPart(f" {LINK}")],
        fitting(characters),
    )
    assert graphemes(made) <= characters
    assert made.startswith("New: ")
    assert made.endswith(f" {LINK}")
    assert made.count("https://") == made.count(LINK)


@given(st.text(), st.integers(0, 40))
def test_a_cut_text_is_a_beginning_with_an_ellipsis(text: str, most: int) -> None:
    made = cut_at_word(text, lambda part: len(part) <= most)
    assert len(made) <= most
    if made != text:
        assert not made or (made.endswith("…") and text.startswith(made[:-1]))
    else:
        assert len(text) <= most


@given(st.text())
def test_one_line_has_no_breaks_and_no_controls(text: str) -> None:
    made = plain_line(f"a{text}\nb\x00\ud800\u202e\u2029c")
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in made)
    assert made.splitlines() == [made]
    made.encode()


def test_a_text_is_cut_to_a_length_at_a_word() -> None:
    assert cut_to("the mainland asked for butter", 20) == "the mainland asked…"
    assert cut_to("butter", 6) == "butter"


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
