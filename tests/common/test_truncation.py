"""Texts cut to a service's limit."""

import time
import unicodedata
from collections.abc import Callable

import grapheme
import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.http.links import graphemes, within
from common.truncation import DoesNotFit, FittingPart, cut_at_word, cut_to, fit_parts, plain_line

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
