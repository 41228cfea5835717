"""Protection against robots without third parties. Tokens are signed; used ones are stored.

Limits of sign-ups, over all newsletters.
"""

import logging
import secrets
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import lru_cache

from django.conf import settings
from django.core.cache import cache
from django.utils.translation import gettext, gettext_noop

from common import signing
from common.net.addresses import is_within, networks_of, read_address
from common.rates import (
    DAY,
    HOUR,
    Limit,
    OverLimit,
    Use,
    add_rows,
    count_rows_within,
    parse_limits,
    read_rows,
    rows_for,
)
from subscriptions.models import Subscribable
from subscriptions.rules.limits import USUAL_LIMITS, counted_as
from subscriptions.rules.sign_up import is_solution

Clients = Mapping[str, Sequence[str]]
log = logging.getLogger(__name__)
# Order of locks, the least contended first.
ORDER = ("address", "ip", "domain", "newsletter")
SHARED = frozenset({"domain", "newsletter"})
# Refusals behind an undeclared proxy, and the address of one in the cache.
PROXY, PROXY_SEEN = "proxy", "undeclared-proxy"
TURNED_AWAY = Limit("turned away", 0, DAY)
# Last digits ignored in “domain”: fraudsters have blocks of numbers.
ROW_OF_NUMBERS = 4
PHONE_LIMITS = (
    Limit("address", 2, HOUR),
    Limit("address", 4, DAY),
    Limit("ip", 4, HOUR),
    Limit("ip", 10, DAY),
    Limit("domain", 10, HOUR, is_shared=True),
    Limit("newsletter", 200, HOUR, is_shared=True),
)
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


@lru_cache(maxsize=8)
def limits_of(text: str) -> Sequence[Limit]:
    limits = [replace(one, is_shared=one.name in SHARED) for one in parse_limits(text, USUAL_LIMITS)]
    return sorted(limits, key=lambda limit: ORDER.index(limit.name))


def sign_up_uses(
    *,
    core: str = "",
    ip: str = "",
    claimed: str | None = None,
    subscribables: Iterable[Subscribable] = (),
    scopes: Collection[str] = ORDER,
) -> Iterator[Use]:
    newsletters = [str(pk) for pk in sorted(each.pk for each in subscribables)]
    clients = {"address": [counted_as(core)], "domain": [core.rpartition("@")[2]], "newsletter": newsletters}
    limits = [limit for limit in limits_of(settings.SIGN_UP_LIMITS) if limit.name in scopes]
    return _uses(limits, clients, ip, claimed)


def phone_uses(*, core: str, ip: str, claimed: str, newsletter: Subscribable) -> Iterator[Use]:
    clients = {"address": [core], "domain": [row_of(core)], "newsletter": [str(newsletter.pk)]}
    return _uses(PHONE_LIMITS, clients, ip, claimed, "phone/")


def _uses(
    limits: Iterable[Limit], clients: Clients, ip: str, claimed: str | None, prefix: str = ""
) -> Iterator[Use]:
    """Without `claimed`, visitors of an undeclared proxy count as one."""
    for limit in limits:
        if limit.name == "ip":
            by_network = limit.by_network(ip, prefix)
            yield from by_network if claimed is None else limit.by_visitor(ip, claimed, prefix)
        else:
            yield from ((limit, prefix + client) for client in clients[limit.name])


def row_of(number: str) -> str:
    return number[:-ROW_OF_NUMBERS]


def note_proxy(address: str) -> None:
    if cache.get(PROXY_SEEN) != address:
        cache.set(PROXY_SEEN, address, DAY)


def undeclared_proxy() -> str:
    """Return the address of a proxy that was seen in the last day, or ""."""
    address = str(read_address(cache.get(PROXY_SEEN, "")) or "")
    return "" if is_within(address, settings.TRUSTED_PROXIES) else address


def note_refusal(over: OverLimit, *, subscribables: Iterable[Subscribable], now: datetime) -> str:
    """Return its reason. Logs the first of some hours and newsletter."""
    scope = PROXY if over.limit.name.startswith(PROXY) else over.limit.name
    newsletters = sorted(subscribables, key=lambda each: each.pk)
    if 1 in add_rows(rows_for([_refusals(each, scope) for each in newsletters], now)).values():
        log.warning(
            "Sign-ups are over the limit (%s), so no more confirmation emails are sent for a while.",
            over.limit.name,
        )
    return scope


def count_refusals(subscribable: Subscribable, *, now: datetime) -> dict[str, int]:
    scopes = (*ORDER, PROXY)
    rows = rows_for([_refusals(subscribable, scope) for scope in scopes], now)
    counts = read_rows(rows, now)
    totals = {scope: counts[row.key][1] for scope, row in zip(scopes, rows, strict=True)}
    return {scope: total for scope, total in totals.items() if total}


def _refusals(subscribable: Subscribable, scope: str) -> Use:
    return TURNED_AWAY, f"{scope}/{subscribable.pk}"
