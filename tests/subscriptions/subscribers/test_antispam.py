"""Checks that distinguish people from programs, and store nothing but used answers."""

import re
from datetime import timedelta

import pytest

from common import signing
from common.rates import forget_rows
from subscriptions.rules.sign_up import solve
from subscriptions.subscribers.antispam import (
    is_answered,
    is_solved,
    new_question,
    new_sum,
    question_text,
    shown_stamp,
    was_read,
)
from tests.factories import NOW
from tests.subscriptions.questions import answer_to

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
    right = answer_to(question_text(question, now=NOW))
    later = NOW + 2 * SECOND
    assert not is_answered(question, str(int(right) + 1), now=later)
    assert not is_answered(question, right, now=NOW + timedelta(hours=1))
    assert is_answered(question, f" {right} ", now=later)
    assert not is_answered(question, right, now=later)


def test_nobody_answers_within_two_seconds_or_for_somebody_else() -> None:
    question = new_question(now=NOW, ip="203.0.113.7")
    right = answer_to(question_text(question, now=NOW))
    assert not is_answered(question, right, now=NOW + 1.9 * SECOND, ip="203.0.113.7")
    assert not is_answered(question, right, now=NOW + 2 * SECOND, ip="203.0.113.8")
    assert is_answered(question, right, now=NOW + 2 * SECOND, ip="203.0.113.7:4711")


def test_neither_the_question_nor_its_token_has_the_numbers_as_digits() -> None:
    for _ in range(20):
        question = new_question(now=NOW)
        assert not re.search("[0-9]", question_text(question, now=NOW))
        assert set(signing.read("form-question", question, now=NOW)) == {"id", "at", "whose"}


def test_every_sum_comes_up() -> None:
    assert len({answer_to(question_text(new_question(now=NOW), now=NOW)) for _ in range(400)}) > 10


@pytest.mark.parametrize("reply", ["", "many", "1e1", "9" * 100_000])
def test_any_reply_may_be_given(reply: str) -> None:
    assert not is_answered(new_question(now=NOW), reply, now=NOW)
    assert not is_answered("nonsense", reply, now=NOW)


def test_what_was_spent_is_forgotten_when_it_has_expired_long_ago() -> None:
    challenge = new_sum(now=NOW)
    assert is_solved(f"{challenge}:{solve(challenge)}", now=NOW)
    assert forget_rows(now=NOW + timedelta(hours=2)) == 0
    assert forget_rows(now=NOW + timedelta(days=3)) == 1
