"""Texts cut to a service's limit."""

import time
import unicodedata

import grapheme
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.truncation import (
    DoesNotFit,
    FittingPart,
    LengthLimits,
    cut_at_word,
    fit_parts,
    plain_line,
    text_length,
)

MASTODON = LengthLimits(characters=500, per_url=23)
FAMILY = "👩‍👩‍👧"
LINK = "https://blog.example/a/very/long/path/that/would/not/fit/otherwise?with=query&and=more"
WORD = st.sampled_from(["a", "Wörter", FAMILY, "日本語" * 20, LINK, "@ada@host.example", "–"])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("abc", 3),
        (FAMILY * 2, 2),
        ("e\u0301", 1),
        (LINK, 23),
        (f"({LINK}).", 26),
        ("http://a.io", 23),
        ("http://localhost/x", 18),
        ("@ada@host.example hi", 7),
        ("@ada hi", 7),
        ("https://x.example/日本", 25),
    ],
)
def test_mastodon_counts_graphemes_links_and_mentions(text: str, expected: int) -> None:
    assert text_length(text, MASTODON) == expected


def test_without_a_price_a_link_counts_as_it_is() -> None:
    assert text_length(LINK, LengthLimits(300)) == len(LINK)


def test_what_fits_is_left_alone() -> None:
    parts = [FittingPart("New: "), FittingPart("a  title ", cuttable=True), FittingPart(LINK)]
    assert fit_parts(parts, MASTODON) == f"New: a  title {LINK}"


def test_a_long_title_is_cut_at_a_word_before_the_link() -> None:
    made = fit_parts(
        [FittingPart("New: "), FittingPart("one two three four", cuttable=True), FittingPart(" x")],
        LengthLimits(19),
    )
    assert made == "New: one two… x"


def test_a_text_without_spaces_is_cut_between_graphemes() -> None:
    assert fit_parts([FittingPart(FAMILY * 50, cuttable=True)], LengthLimits(10)) == FAMILY * 9 + "…"


def test_a_run_on_word_after_others_is_used_to_the_end() -> None:
    made = fit_parts([FittingPart("日本 " + "語" * 400, cuttable=True)], LengthLimits(100))
    assert grapheme.length(made) == 100


def test_a_link_in_a_title_goes_whole() -> None:
    made = fit_parts([FittingPart(f"read {LINK} now", cuttable=True)], LengthLimits(40))
    assert made == "read…"


def test_the_longest_part_is_cut_first() -> None:
    made = fit_parts(
        [
            FittingPart("one two three", cuttable=True),
            FittingPart(", by "),
            FittingPart("Ada", cuttable=True),
        ],
        LengthLimits(17),
    )
    assert made == "one two…, by Ada"


def test_what_may_not_be_cut_and_is_too_long_is_an_error() -> None:
    with pytest.raises(DoesNotFit, match="20 characters"):
        fit_parts([FittingPart("x", cuttable=True), FittingPart("y" * 21)], LengthLimits(20))


def test_a_huge_title_takes_no_long_time() -> None:
    zalgo, begun = "a" + "\u0301" * 500_000, time.process_time()
    made = fit_parts(
        [FittingPart(zalgo, cuttable=True), FittingPart("b" * 1_000_000, cuttable=True)], MASTODON
    )
    assert text_length(made, MASTODON) <= 500
    assert time.process_time() - begun < 5


@given(st.lists(WORD, max_size=60), st.integers(60, 300))
def test_the_limit_holds_and_what_is_fixed_stays(words: list[str], characters: int) -> None:
    limits = LengthLimits(characters, per_url=23)
    made = fit_parts(
        [FittingPart("New: "), FittingPart(" ".join(words), cuttable=True), FittingPart(f" {LINK}")], limits
    )
    assert text_length(made, limits) <= characters
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
