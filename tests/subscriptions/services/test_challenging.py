"""What tells people from programs, without remembering anything but what was spent."""

from datetime import timedelta

import pytest

from subscriptions.rules.proof_of_work import solve
from subscriptions.services.challenging import (
    is_answered,
    is_solved,
    new_question,
    new_sum,
    shown_stamp,
    was_read,
    words,
)
from subscriptions.services.expiring import forget_tallies
from tests.factories import NOW

pytestmark = pytest.mark.django_db
SECOND = timedelta(seconds=1)


def test_a_form_is_open_for_a_second_at_least_and_two_days_at_most() -> None:
    stamp = shown_stamp(now=NOW)
    assert not was_read(stamp, now=NOW + timedelta(milliseconds=900))
    assert was_read(stamp, now=NOW + SECOND)
    assert was_read(stamp, now=NOW + timedelta(days=2) - SECOND)
    assert not was_read(stamp, now=NOW + timedelta(days=2))


@pytest.mark.parametrize(
    "stamp",
    ["", "nonsense", new_sum(now=NOW), "é", "x" * 5000],
    ids=["empty", "words", "sum", "accent", "long"],
)
def test_a_stamp_that_is_not_ours_says_nothing(stamp: str) -> None:
    assert not was_read(stamp, now=NOW)


def test_a_solution_is_good_once_and_for_half_an_hour() -> None:
    challenge = new_sum(now=NOW)
    solution = f"{challenge}:{solve(challenge)}"
    assert not is_solved(solution, now=NOW + timedelta(minutes=30))
    assert is_solved(solution, now=NOW + SECOND)
    assert not is_solved(solution, now=NOW + SECOND)
    assert not is_solved(solution, now=NOW + timedelta(days=1))


def test_a_challenge_has_to_be_ours_and_solved() -> None:
    made_up = f"made-up:{solve('made-up')}"
    unsolved = f"{new_sum(now=NOW)}:{solve('made-up')}"
    stamp = shown_stamp(now=NOW)
    other = f"{stamp}:{solve(stamp)}"
    for solution in ("", ":", made_up, unsolved, other):
        assert not is_solved(solution, now=NOW)


def test_a_question_is_answered_once_within_an_hour() -> None:
    question = new_question(now=NOW)
    asked = words(question, now=NOW)
    first, second = (int(word.strip("?")) for word in asked.removeprefix("How much is ").split(" + "))
    assert not is_answered(question, str(first + second + 1), now=NOW)
    assert not is_answered(question, str(first + second), now=NOW + timedelta(hours=1))
    assert is_answered(question, f" {first + second} ", now=NOW)
    assert not is_answered(question, str(first + second), now=NOW)


@pytest.mark.parametrize("reply", ["", "many", "1e1", "9" * 100_000])
def test_any_reply_may_be_given(reply: str) -> None:
    assert not is_answered(new_question(now=NOW), reply, now=NOW)
    assert not is_answered("nonsense", reply, now=NOW)


def test_what_was_spent_is_forgotten_when_it_has_expired_long_ago() -> None:
    challenge = new_sum(now=NOW)
    assert is_solved(f"{challenge}:{solve(challenge)}", now=NOW)
    assert forget_tallies(now=NOW + timedelta(hours=2)) == 0
    assert forget_tallies(now=NOW + timedelta(days=3)) == 1
