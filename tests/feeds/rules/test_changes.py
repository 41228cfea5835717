"""Changes of a post's words."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from feeds.rules.changes import ADDED, KEPT, LEFT_OUT, REMOVED, changes, excerpt, written

# Few words, so that two texts share some.
WORDS = st.lists(st.sampled_from(["the ", "bee", " wasp", "蜂", "房\n", ", ", "\n", "\r\n", "  ", "ß"])).map(
    "".join
)
TEXTS = st.one_of(WORDS, st.text())
PARAGRAPH = "x y " * 200
HOSTILE = {
    "the same word": ("x " * 500_000, "x " * 499_993 + "y"),
    "every other word": ("x y " * 250_000, "x z " * 250_000),
    "many paragraphs": ("".join(f"{PARAGRAPH}{n}\n" for n in range(1_200)), f"{PARAGRAPH}\n" * 1_200),
    "one long word": ("a" * 1_000_000, "b" * 1_000_000),
    "without blanks": ("蜂" * 1_000_000, "蜂房" * 500_000),
}


@given(TEXTS, TEXTS)
@example("a b", "a  b")
@example("", "new")
def test_the_changes_applied_to_the_old_words_give_the_new_ones(old: str, new: str) -> None:
    parts = changes(old, new)
    assert "".join(words for kind, words in parts if kind != ADDED) == old
    assert "".join(words for kind, words in parts if kind != REMOVED) == new
    assert all(words for _, words in parts)
    assert old != new or not [kind for kind, _ in parts if kind != KEPT]


def test_only_changed_words_are_marked() -> None:
    parts = changes("Bee hotels\nThe bee is asleep.", "Bee hotels, corrected\nThe wasp is asleep.")
    assert written(parts) == "Bee hotels{+, corrected+}\nThe [-bee-]{+wasp+} is asleep."


def test_an_excerpt_leaves_out_what_is_far_from_a_change() -> None:
    old = f"{'a ' * 50}bee {'b ' * 50}"
    parts = excerpt(changes(old, old.replace("bee", "wasp " * 100)), around=2, most=3)
    assert written(parts) == "…a a [-bee -]{+wasp wasp wasp +}…b b …"
    assert [kind for kind, _ in parts].count(LEFT_OUT) == 3


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_of_a_megabyte_take_bounded_time(name: str) -> None:
    old, new = HOSTILE[name]
    began = time.thread_time()
    parts = changes(old, new)
    assert time.thread_time() - began < 5
    assert "".join(words for kind, words in parts if kind != ADDED) == old
