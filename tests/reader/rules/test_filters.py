"""Posts that filters hide; a filter that cannot judge a post does not hide it.

Queries of words, phrases and exclusions.
"""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.text import one_line
from reader.rules.filters import (
    MOST_TERMS,
    Filters,
    FilterVerdict,
    InvalidFilter,
    checked_filters,
    judged,
    looked_at,
)
from reader.rules.jf2 import KINDS
from reader.rules.search import MOST_TERMS as MOST_SEARCH_TERMS
from reader.rules.search import Query, Term, parse_query, searched_line, words_of

TEXTS = st.text(max_size=200)
CHARACTERS = st.characters(categories=["L", "N", "P", "S", "Zs"])
TERMS = st.text(CHARACTERS, min_size=1, max_size=12).filter(
    lambda text: one_line(text) and not one_line(text).startswith("/")
)


def is_hidden(text: str, *, hide: Any = (), keep: Any = (), kinds: Any = (), kind: str = "note") -> bool:
    return bool(judged(checked_filters(kinds=kinds, hide=hide, keep=keep), kind, (text,)).field)


@pytest.mark.parametrize(
    ("term", "text", "found"),
    [
        ("ai", "The AI winter", True),
        ("ai", "He said it again", False),
        ("AI", "about ai.", True),
        ("c++", "Why C++ stays", True),
        ("#ad", "this is an #Ad", True),
        ("#ad", "this is an #address", False),
        ("high  water", "High\nwater at six", True),
        ("straße", "in der STRASSE", True),
        ("café", "cafe\u0301 au lait", True),
        ("猫", "黒猫が好き", True),
        ("/a|b/", "xbx", True),
        ("/a|b/", "XBX", False),
        ("/a|b/i", "XBX", True),
        ("/^ad:/", "ad: buy", True),
        ("/^ad:/", "an ad: buy", False),
        ("/", "either / or", True),
        ("//", "https://x.test", True),
        (".*", "anything", False),
    ],
)
def test_a_term_is_whole_words_or_an_expression_between_slashes(term: str, text: str, found: bool) -> None:
    assert is_hidden(text, hide=[term]) is found
    assert is_hidden(text, keep=[term]) is not found


def test_a_kind_is_hidden_whatever_it_says() -> None:
    assert judged(
        checked_filters(kinds=["like"], hide=(), keep=["sea"]), "like", ("the sea",)
    ) == FilterVerdict("kinds", "like")
    assert not is_hidden("the sea", kinds=["like"], keep=["sea"])


def test_hiding_goes_before_keeping() -> None:
    assert is_hidden("the sea, an advertisement", hide=["advertisement"], keep=["sea"])
    assert judged(Filters(keep=("sea",)), "note", ("the town",)).field == "keep"


@given(st.lists(TERMS, max_size=4), st.text(max_size=40))
def test_words_hide_or_keep_what_they_are_in_and_never_fail(terms: list[str], text: str) -> None:
    filters = Filters(hide=tuple(terms))
    assert not judged(filters, "note", (text,)).failed
    for term in terms:
        assert (
            judged(checked_filters(kinds=(), hide=[term], keep=()), "note", (f"x {term} y",)).field == "hide"
        )


@given(st.lists(st.sampled_from(KINDS), max_size=11, unique=True), st.lists(TERMS), st.lists(TERMS))
def test_what_is_stored_is_read_again(kinds: list[str], hide: list[str], keep: list[str]) -> None:
    filters = checked_filters(kinds=kinds, hide=hide, keep=keep)
    assert Filters.read(filters.stored) == filters
    assert (filters.stored is None) == (filters == Filters())


def test_a_pattern_that_takes_too_long_hides_nothing_and_is_named() -> None:
    slow = Filters(hide=("/(x+x+)+y/", "town"))
    begun = time.thread_time()
    said = judged(slow, "note", ("x" * 5_000 + " town",))
    assert time.thread_time() - begun < 1
    assert (said.field, said.failed) == ("", ("/(x+x+)+y/", "town"))
    kept = judged(Filters(keep=("/(x+x+)+y/",)), "note", ("x" * 5_000,))
    assert (kept.field, kept.failed) == ("", ("/(x+x+)+y/",))


@pytest.mark.parametrize(
    ("given", "field", "says"),
    [
        ({"kinds": ["poem"]}, "kinds", "no kind of post called poem"),
        ({"kinds": KINDS}, "kinds", "hides all kinds"),
        ({"hide": ["/(/"]}, "hide", "/(/: It is no regular expression"),
        ({"keep": ["/(x+x+)+y/"]}, "keep", "can take too long"),
        ({"hide": ["x" * 201]}, "hide", "at most 200 characters"),
        ({"hide": [f"word {number}" for number in range(MOST_TERMS + 1)]}, "hide", "at most 50 lines"),
    ],
)
def test_what_cannot_work_is_refused_with_a_sentence(given: dict[str, Any], field: str, says: str) -> None:
    with pytest.raises(InvalidFilter) as refused:
        checked_filters(**{"kinds": (), "hide": (), "keep": (), **given})
    assert says in str(refused.value)
    assert refused.value.field == field


def test_title_author_categories_and_text_are_looked_at_and_addresses_are_not() -> None:
    jf2 = {
        "name": "High water",
        "author": {"name": "Ada"},
        "category": ["sea"],
        "content": {"text": "six", "html": "<b>six</b>"},
        "url": "https://x.test/spam",
    }
    assert looked_at(jf2) == ("High water", "Ada", "sea", "six")


def test_a_term_is_looked_for_in_each_field_by_itself() -> None:
    fields = looked_at({"name": "High", "category": ["water", "ads"], "content": {"text": "ad: buy"}})
    for term, field in (("high water", ""), ("/^ad:/", "hide"), ("/^water$/", "hide"), ("/High$/", "hide")):
        assert judged(Filters(hide=(term,)), "note", fields).field == field, term


@pytest.mark.parametrize(
    ("text", "wanted", "unwanted"),
    [
        ("Sturm Hafen", [" sturm", " hafen"], []),
        ('"the Storm"', [" the storm "], []),
        ("“the Storm” sea", [" the storm ", " sea"], []),
        ("«été»", [" ete "], []),
        ('storm -harbour -"low tide"', [" storm"], [" harbour", " low tide "]),
        ('"not closed', [" not closed "], []),
        ("e-mail", [" e mail"], []),
        ("to be", [" to ", " be "], []),
        ("天気", [" 天 気 "], []),
        ("- \" “ ' % _", [], []),
        ("-alone", [], [" alone"]),
        ("storm storm", [" storm"], []),
    ],
)
def test_words_phrases_and_exclusions_are_told_apart(
    text: str, wanted: list[str], unwanted: list[str]
) -> None:
    query = parse_query(text)
    assert [term.part for term in query.wanted] == wanted
    assert [term.part for term in query.unwanted] == unwanted


def test_a_phrase_never_crosses_the_border_of_two_fields() -> None:
    line = searched_line(["Low tide", "Ada Byron"], 1_000)
    assert parse_query('"low tide"').wanted[0].part in line
    assert parse_query('"tide ada"').wanted[0].part not in line


@given(TEXTS, TEXTS)
def test_each_word_and_phrase_of_a_text_is_found_in_its_line(before: str, text: str) -> None:
    line = searched_line([before, text], 10_000)
    for word in words_of(text):
        assert Term((word,)).part in line
    phrase = tuple(words_of(text))[:20]
    assert not phrase or Term(phrase).part in line


@given(st.lists(TEXTS, max_size=5), st.integers(min_value=2, max_value=300))
def test_a_line_is_bounded_and_ends_with_a_whole_word(fields: list[str], most: int) -> None:
    line = searched_line(fields, most)
    assert len(line) <= most + 1
    assert line.startswith(" ")
    assert line.endswith(" ")


@given(st.text())
def test_any_query_is_read_and_bounded(text: str) -> None:
    query = parse_query(text)
    assert len(query.wanted) + len(query.unwanted) <= MOST_SEARCH_TERMS
    assert query == Query(query.wanted, query.unwanted)
