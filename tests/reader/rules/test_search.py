"""Queries of words, phrases and exclusions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reader.rules.search import MOST_TERMS, Query, Term, parse_query, searched_line, words_of

TEXTS = st.text(max_size=200)


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
    assert len(query.wanted) + len(query.unwanted) <= MOST_TERMS
    assert query == Query(query.wanted, query.unwanted)
