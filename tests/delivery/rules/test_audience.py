"""The stored audience of a letter by an editor."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from delivery.rules.audience import Audience, UnknownAudience, audience_sentence, is_for_some

NAMED = st.dictionaries(st.integers(1, 10**9), st.text(max_size=5), max_size=3)
AUDIENCES = st.builds(Audience, any_of=NAMED, none_of=NAMED, others=NAMED)


@given(AUDIENCES)
def test_what_is_stored_is_read_again_and_everybody_is_empty(audience: Audience) -> None:
    stored = audience.to_json()
    assert Audience.from_json(stored) == audience
    assert bool(stored) == (audience != Audience())
    assert is_for_some(stored) == bool(audience.tags)


@pytest.mark.parametrize(
    "stored",
    [
        {"region": {"1": "North"}},
        {"any_of": {"1": "vip"}, "region": {}},
        {"any_of": ["vip"]},
        {"any_of": {}},
        {"any_of": {"vip": "vip"}},
        {"any_of": {"01": "vip"}},
        {"any_of": None},
        ["vip"],
        None,
    ],
)
def test_what_this_release_would_not_have_stored_is_not_taken_for_everybody(stored: Any) -> None:
    with pytest.raises(UnknownAudience):
        Audience.from_json(stored)


@pytest.mark.parametrize(
    ("audience", "words"),
    [
        (Audience(), "everybody who is confirmed"),
        (Audience(any_of={1: "a", 2: "b", 3: "c"}), "those with the tag “a”, “b” or “c”"),
        (Audience(none_of={1: "a"}), "everybody without the tag “a”"),
        (Audience(any_of={1: "a"}, none_of={2: "b"}), "those with the tag “a” and without the tag “b”"),
        (
            Audience(others={1: "Daily", 2: "Weekly"}),
            "everybody who is confirmed, also of “Daily” and “Weekly”; each person once",
        ),
    ],
)
def test_it_is_said_in_words(audience: Audience, words: str) -> None:
    assert audience_sentence(audience) == words
