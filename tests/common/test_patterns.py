"""Patterns of rules in a text."""

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from common.patterns import (
    CONTAINS,
    EQUALS,
    MATCHES,
    Deadline,
    InvalidPattern,
    OutOfTime,
    check_pattern,
    is_found,
    replaced,
)
from common.text import comparable

ROOM = 1_000


def has(test: str, pattern: str, text: str) -> bool:
    return is_found(test, pattern, text, Deadline.within(1))


def put(test: str, pattern: str, replacement: str, text: str, room: int = ROOM) -> str:
    return replaced(test, pattern, replacement, text, Deadline.within(1), room=room)


@pytest.mark.parametrize(
    ("test", "pattern", "text", "expected"),
    [
        (CONTAINS, "sponsored", "A SPONSORED post", True),
        (CONTAINS, "élan", "ÉLAN vital", True),
        (CONTAINS, "elan", "élan", False),
        (CONTAINS, "e\u0301lan", "\u00e9lan", True),
        (CONTAINS, "\u00e9lan", "e\u0301lan", True),
        (CONTAINS, "two words", "two\n  words", True),
        (CONTAINS, "c++ (2.0)", "On C++ (2.0)", True),
        (CONTAINS, ".*", "abc", False),
        (EQUALS, "news", " News\n", True),
        (EQUALS, "news", "Newsletter", False),
        (CONTAINS, "don't", "I don’t", True),
        (CONTAINS, "l’été", "L'ÉTÉ", True),
        (CONTAINS, '"quoted"', "a “quoted” word", True),
        (CONTAINS, "«mot»", 'un "mot"', True),
        (CONTAINS, "e-mail", "E\u2011Mail", True),
        (CONTAINS, "2020-2021", "2020–2021", True),
        (CONTAINS, "newsletter", "news\u00adletter", True),
        (CONTAINS, "newsletter", "news\u200bletter", True),
        (EQUALS, "sale", "\u200eＳＡＬＥ", True),
        (CONTAINS, "strasse", "Straße", True),
        (CONTAINS, "istanbul", "İstanbul", True),
        (CONTAINS, "λόγος", "ΛΌΓΟΣ", True),
        (CONTAINS, "a b", "a\u202fb", True),
        (MATCHES, r"\bads?\b", "an ad", True),
        (MATCHES, r"\bads?\b", "an AD", False),
        (MATCHES, r"(?i)\bads?\b", "an AD", True),
    ],
)
def test_a_text_has_what_is_looked_for(test: str, pattern: str, text: str, expected: bool) -> None:
    assert has(test, pattern, text) is expected


@given(st.text(min_size=1).filter(lambda words: comparable(words).strip()), st.text(), st.text())
def test_words_are_found_wherever_they_stand(words: str, before: str, after: str) -> None:
    assert has(CONTAINS, words, f"{before} {words} {after}")


def test_words_that_nobody_can_see_are_refused() -> None:
    with pytest.raises(InvalidPattern, match="invisible"):
        check_pattern(CONTAINS, "\u200b\u00ad")


@pytest.mark.parametrize(
    ("pattern", "text", "result"),
    [
        ("don't", "I don’t, DON'T", "I X, X"),
        ("newsletter", "the news\u00adletter.", "the X."),
        ("ss", "Straße ﬀ", "StraXe ﬀ"),
        ("b", "…\u200ba…b\u200bc", "…\u200ba…X\u200bc"),
    ],
)
def test_words_are_replaced_as_they_are_compared(pattern: str, text: str, result: str) -> None:
    assert put(CONTAINS, pattern, "X", text) == result


def test_an_expression_that_runs_out_of_time_is_stopped() -> None:
    begun = time.monotonic()
    with pytest.raises(OutOfTime):
        is_found(MATCHES, "(a+)+$", "a" * 5000 + "!", Deadline.within(0.05))
    with pytest.raises(OutOfTime):
        replaced(MATCHES, "(a+)+$", "", "a" * 5000 + "!", Deadline.within(0.05), room=ROOM)
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("(a", "no regular expression: missing )"),
        ("(a+)+$", "too long"),
        ("(x+x+)+y", "too long"),
        ("((a{1000}){1000}){1000}", "too many"),
        ("(?:" * 400 + "a" + ")" * 400 + "{99999999999}", "too many"),
    ],
)
def test_an_expression_that_cannot_work_is_refused(pattern: str, said: str) -> None:
    with pytest.raises(InvalidPattern, match=regex.escape(said)):
        check_pattern(MATCHES, pattern)


@pytest.mark.parametrize("pattern", [".*sponsored.*", r"\d{4}-\d{2}-\d{2}", r"^\[Ad\]", "(?i)a|b", ""])
def test_usual_expressions_are_taken(pattern: str) -> None:
    check_pattern(MATCHES, pattern)


@pytest.mark.parametrize(
    ("test", "pattern", "replacement", "text", "expected"),
    [
        (CONTAINS, "bee", "wasp", "Bee, bees", "wasp, wasps"),
        (CONTAINS, "bee", r"\1 $0", "bee", r"\1 $0"),
        (EQUALS, "bee", "wasp", "bees", "bees"),
        (MATCHES, r"(\w+) (\w+)", r"\2 \1", "one two", "two one"),
        (MATCHES, r"(a)|(b)", r"<\2>", "ab", "<><b>"),
        (MATCHES, "a", r"\\1", "a", r"\1"),
        (MATCHES, "x*", "-", "axa", "a-a"),
    ],
)
def test_what_is_found_is_replaced(
    test: str, pattern: str, replacement: str, text: str, expected: str
) -> None:
    assert put(test, pattern, replacement, text) == expected


def test_a_group_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidPattern, match=r"\\2"):
        check_pattern(MATCHES, "(a)", r"\2")
    check_pattern(MATCHES, "(a)", r"\\2 \1")


def test_a_replacement_does_not_grow_without_end() -> None:
    with pytest.raises(ValueError, match="longer than"):
        put(MATCHES, "a", "b" * 100, "a" * 100)


def test_a_text_without_the_pattern_stays_as_it_was_written() -> None:
    assert put(CONTAINS, "x", "y", "e\u0301") == "e\u0301"


@pytest.mark.parametrize(
    "inside", ["b-z" * 166, r"\d" * 240, "]" + "b-z" * 160, r"\]" + "b-z" * 160, "^a" + "b-z" * 160]
)
def test_a_large_class_is_not_held_against_a_long_text(inside: str) -> None:
    """The clock is not checked meanwhile: 500 characters took five seconds of half a million."""
    for pattern in (f"[{inside}]", f"(x|[{inside}])*y"):
        with pytest.raises(OutOfTime):
            is_found(MATCHES, pattern, "a" * 500_000, Deadline.within(10))
        with pytest.raises(OutOfTime):
            replaced(MATCHES, pattern, "", "a" * 500_000, Deadline.within(10), room=10**7)
        is_found(MATCHES, pattern, "a" * 1_000, Deadline.within(10))


def test_usual_classes_are_held_against_texts_of_any_length() -> None:
    assert not is_found(MATCHES, r"[0-9]{3}[A-Z]\[", "a" * 1_000_000, Deadline.within(10))
    assert is_found(MATCHES, "[^a-z0-9]", "a" * 900_000 + "-", Deadline.within(10))
