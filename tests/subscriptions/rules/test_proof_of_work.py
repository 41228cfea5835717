"""The proof of work that a browser computes: pure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from subscriptions.rules.sign_up import PARTS, is_solution, solve

SOLVED = solve("a challenge")


def test_a_solution_fits_its_challenge_and_no_other() -> None:
    assert is_solution("a challenge", SOLVED)
    assert not is_solution("another challenge", SOLVED)


def test_every_part_has_to_be_solved() -> None:
    numbers = SOLVED.split(",")
    assert not is_solution("a challenge", ",".join(numbers[:-1]))
    assert not is_solution("a challenge", ",".join([*numbers, "1"]))
    assert not is_solution("a challenge", ",".join([numbers[0]] * PARTS))


@pytest.mark.parametrize("said", ["", ",,,,,,,", "-1,-1,-1,-1,-1,-1,-1,-1", "٣,٣,٣,٣,٣,٣,٣,٣", "1" * 10_000])
def test_what_is_no_solution_is_none(said: str) -> None:
    assert not is_solution("a challenge", said)


@given(st.text(max_size=40), st.text(max_size=80))
def test_any_text_may_be_given(challenge: str, numbers: str) -> None:
    assert isinstance(is_solution(challenge.encode(errors="replace").decode(), numbers), bool)
