"""Protection against robots without third parties. Tokens are signed; used ones are stored."""

import secrets
from datetime import datetime, timedelta

from django.utils.translation import gettext, gettext_noop

from common import signing
from common.net.addresses import networks_of
from common.rates import DAY, Limit, count_rows_within
from subscriptions.rules.proof_of_work import is_solution

SHOWN, SUM, QUESTION = "form-shown", "form-sum", "form-question"
# Nobody types an address faster.
QUICKEST = timedelta(seconds=1)
QUESTION_READ = 2 * QUICKEST
SHOWN_FOR = timedelta(days=2)
SUM_FOR = timedelta(minutes=30)
QUESTION_FOR = timedelta(hours=1)
SPENT = Limit("spent", 1, DAY)
NUMBER_NAMES = {
    2: gettext_noop("two"),
    3: gettext_noop("three"),
    4: gettext_noop("four"),
    5: gettext_noop("five"),
    6: gettext_noop("six"),
    7: gettext_noop("seven"),
    8: gettext_noop("eight"),
    9: gettext_noop("nine"),
}
LONGEST_REPLY = 10


def shown_stamp(*, now: datetime) -> str:
    """Caches may keep a page for two days."""
    return signing.sign(SHOWN, {"at": _milliseconds(now)}, expires=now + SHOWN_FOR)


def was_read(stamp: str, *, now: datetime) -> bool:
    """Return whether the form was open long enough, but not for days."""
    try:
        at = signing.read(SHOWN, stamp, now=now)["at"]
    except signing.TokenError:
        return False
    return bool(_milliseconds(now) - at >= QUICKEST.total_seconds() * 1000)


def new_sum(*, now: datetime) -> str:
    """Return a challenge, valid for half an hour."""
    return signing.sign(SUM, {"id": secrets.token_urlsafe(9)}, expires=now + SUM_FOR)


def is_solved(solution: str, *, now: datetime) -> bool:
    """Check and spend “challenge:numbers”."""
    challenge, _, numbers = solution.rpartition(":")
    try:
        signing.read(SUM, challenge, now=now)
    except signing.TokenError:
        return False
    return is_solution(challenge, numbers) and _spend(challenge, now)


def new_question(*, now: datetime, ip: str = "") -> str:
    """Return a token for the same IP address only."""
    facts: dict[str, str | int] = {
        "id": secrets.token_urlsafe(9),
        "at": _milliseconds(now),
        "whose": _whose(ip),
    }
    return signing.sign(QUESTION, facts, expires=now + QUESTION_FOR)


def question_text(question: str, *, now: datetime) -> str:
    """Raises TokenError. Stops generic form fillers; sign-up limits stop programs for this form."""
    first, second = (gettext(NUMBER_NAMES[number]) for number in _numbers(question, now))
    return gettext("How much is %(first)s plus %(second)s? Please answer in digits.") % {
        "first": first,
        "second": second,
    }


def is_answered(question: str, reply: str, *, now: datetime, ip: str = "") -> bool:
    """Check and spend an answer, unless it was too fast."""
    try:
        facts = signing.read(QUESTION, question, now=now)
        is_right = int(reply[:LONGEST_REPLY]) == sum(_numbers(question, now))
    except ValueError:
        return False
    is_slow = _milliseconds(now) - facts["at"] >= QUESTION_READ.total_seconds() * 1000
    return is_right and is_slow and facts["whose"] == _whose(ip) and _spend(question, now)


def _numbers(question: str, now: datetime) -> tuple[int, int]:
    """Derive the numbers with our key: the token must not reveal them."""
    drawn = signing.stamp(QUESTION, str(signing.read(QUESTION, question, now=now)["id"]))
    least, many = min(NUMBER_NAMES), len(NUMBER_NAMES)
    return least + int(drawn[:8], 16) % many, least + int(drawn[8:16], 16) % many


def _whose(ip: str) -> str:
    return signing.stamp(f"{QUESTION} of", next(iter(networks_of(ip))))


def _milliseconds(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def _spend(token: str, now: datetime) -> bool:
    """Return whether it was unspent. The row outlives the token."""
    return count_rows_within((SPENT, token), now=now)
