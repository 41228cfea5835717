"""Words of a filter: input, display, and matches."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.post_rules import InvalidWords, read_words, typed_words, word_of, word_pattern

WORDS = st.text(st.characters(codec="utf-8", exclude_characters='*"“”„«»,;\\\0'), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", []),
        ("honey bee", ["honey", "bee"]),
        ('honey "queen bee"', ["honey", "queen bee"]),
        ("honey, bee;\nwax honey", ["honey", "bee", "wax"]),
        ("„queen bee“ «the hive»", ["queen bee", "the hive"]),
        ("it's C++ #tag", ["it's", "C++", "#tag"]),
    ],
)
def test_words_are_read_as_they_are_typed(typed: str, words: list[str]) -> None:
    assert read_words(typed) == words


@pytest.mark.parametrize(("typed", "reason"), [('"open', "quote"), ("*", "star"), ("x" * 61, "long")])
def test_what_is_no_word_is_refused(typed: str, reason: str) -> None:
    with pytest.raises(InvalidWords) as refused:
        read_words(typed)
    assert refused.value.reason == reason


@pytest.mark.parametrize(
    ("word", "text", "is_found"),
    [
        ("art", "A party", False),
        ("art", "The Art of bees", True),
        ("art*", "An artist", True),
        ("*art", "smart", True),
        ("C++", "C++ for bees", True),
        ("C++", "C", False),
        ("queen bee", "The Queen Bee", True),
        ("**bees**", "**bees**", True),
        ("a.c", "abc", False),
        ("Žluť", "žluť", True),
    ],
)
def test_whole_words_are_found_in_any_case(word: str, text: str, is_found: bool) -> None:
    assert bool(re.search(word_pattern(word), text)) is is_found


@given(st.lists(WORDS, max_size=5))
def test_what_is_shown_reads_as_the_same_words(words: list[str]) -> None:
    read = read_words(" ".join(f'"{word}"' for word in words))
    assert read_words(typed_words(read)) == read
    for word in read:
        assert word_of(word_pattern(word)) == word


@given(WORDS)
def test_a_word_finds_itself(word: str) -> None:
    for read in read_words(f'"{word}"'):
        assert re.search(word_pattern(read), read)
