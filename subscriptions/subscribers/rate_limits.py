"""Limits of sign-ups, over all newsletters."""

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import lru_cache

from django.conf import settings
from django.core.cache import cache

from common.net.addresses import is_within, read_address
from common.rates import DAY, HOUR, Limit, OverLimit, Use, add_rows, parse_limits, read_rows, rows_for
from subscriptions.models import Subscribable
from subscriptions.rules.limits import USUAL_LIMITS, counted_as

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
