"""Holds off robots without third parties: when a form was shown, a small sum, a plain question.

All are signed, none is stored; only what was spent is remembered, until it would have expired.
"""

import secrets
from datetime import datetime, timedelta

from django.utils.translation import gettext

from common import signing
from subscriptions.rules.proof_of_work import is_solution
from subscriptions.services.tallies import Count, add_one

SHOWN, SUM, QUESTION = "form-shown", "form-sum", "form-question"
# Nobody types an address faster; whoever does so is asked a question, not turned away.
QUICKEST = timedelta(seconds=1)
SHOWN_FOR = timedelta(days=2)
SUM_FOR = timedelta(minutes=30)
QUESTION_FOR = timedelta(hours=1)
SPENT = "spent"
LONGEST_REPLY = 10


def shown_stamp(*, now: datetime) -> str:
    """Goes into a form, and says when it was shown; a page may be kept by a cache for two days."""
    return signing.sign(SHOWN, {"at": int(now.timestamp() * 1000)}, expires=now + SHOWN_FOR)


def was_read(stamp: str, *, now: datetime) -> bool:
    """Whether a form was open as long as a person needs, and not for days."""
    try:
        at = signing.read(SHOWN, stamp, now=now)["at"]
    except signing.TokenError:
        return False
    return bool(now.timestamp() * 1000 - at >= QUICKEST.total_seconds() * 1000)


def new_sum(*, now: datetime) -> str:
    """The challenge of rules/proof_of_work.py; good for half an hour and one sign-up."""
    return signing.sign(SUM, {"id": secrets.token_urlsafe(9)}, expires=now + SUM_FOR)


def is_solved(solution: str, *, now: datetime) -> bool:
    """Whether `solution` is a challenge of ours, a colon and its numbers; a second time it is not."""
    challenge, _, numbers = solution.rpartition(":")
    return _is_ours(SUM, challenge, now) and is_solution(challenge, numbers) and _spend(challenge, now)


def new_question(*, now: datetime) -> str:
    """A token that holds two small numbers; `words` says the question."""
    first, second = 2 + secrets.randbelow(8), 2 + secrets.randbelow(8)
    numbers: dict[str, str | int] = {"first": first, "second": second, "id": secrets.token_urlsafe(9)}
    return signing.sign(QUESTION, numbers, expires=now + QUESTION_FOR)


def words(question: str, *, now: datetime) -> str:
    """The question in the reader's language. Raises TokenError."""
    return gettext("How much is %(first)s + %(second)s?") % signing.read(QUESTION, question, now=now)


def is_answered(question: str, reply: str, *, now: datetime) -> bool:
    """Whether the reply is right; a second time it is not."""
    try:
        numbers = signing.read(QUESTION, question, now=now)
        given = int(reply[:LONGEST_REPLY])
    except ValueError:
        return False
    return given == numbers["first"] + numbers["second"] and _spend(question, now)


def _is_ours(purpose: str, token: str, now: datetime) -> bool:
    try:
        signing.read(purpose, token, now=now)
    except signing.TokenError:
        return False
    return True


def _spend(token: str, now: datetime) -> bool:
    """Whether nobody spent it before. The row is forgotten long after the token has expired."""
    key = signing.stamp("tally", token)
    epoch_day = now.replace(hour=0, minute=0, second=0, microsecond=0)
    return add_one([Count(SPENT, key, epoch_day)])[key] == 1
