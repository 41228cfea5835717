"""Says when sign-ups would cause too much mail, and remembers how often it had to."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from random import getrandbits

from django.conf import settings
from django.db.models import Sum

from common.signing import stamp
from subscriptions.models import Subscribable, Tally
from subscriptions.rules.limits import (
    LONGEST,
    Limit,
    counts_from,
    is_near,
    is_over,
    network_of,
    parse_limits,
    slice_of,
)
from subscriptions.services.tallies import Count, add_one, found

log = logging.getLogger(__name__)
# The rarer a row is wanted by others the earlier it is locked.
ORDER = ("address", "ip", "domain", "newsletter")
# What readers who have nothing to do with each other count in common. Each row is locked until its sign-up is
# on disk: with one row, sign-ups came to one per write. (So many at the same moment may exceed such a limit.)
SHARED = frozenset({"domain", "newsletter"})
SHARD_BITS = 4
# The limit of one address that is of this machine or network: our own proxy's, most likely.
PROXY = "proxy"
TURNED_AWAY = "turned away"


class OverLimit(Exception):
    """One mail more would be too much. `scope` says by which limit."""

    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope


@dataclass(frozen=True, slots=True)
class Draw:
    """What one mail takes from one limit; `before` was taken in the earlier slices."""

    limit: Limit
    count: Count
    before: int = 0


@lru_cache(maxsize=8)
def limits_of(text: str) -> Mapping[str, Sequence[Limit]]:
    """The limits of SIGN_UP_LIMITS, by scope."""
    limits = parse_limits(text)
    return {scope: [limit for limit in limits if limit.scope == scope] for scope in ORDER}


def draws(*, core: str, ip: str, subscribables: Iterable[Subscribable], now: datetime) -> list[Draw]:
    """What a mail to that address takes from each limit. Raises OverLimit when one is reached already.

    Locks nothing, so that a flood costs one look.
    """
    limits = limits_of(settings.SIGN_UP_LIMITS)
    values = _values(core, ip, subscribables)
    wanted = [_draw(limit, value, now) for scope, value in values for limit in limits[scope]]
    return _judged(wanted, now)


def take(draws: Sequence[Draw]) -> None:
    """Counts the mail; last in the caller's transaction. Raises OverLimit when another was faster."""
    counts = add_one([draw.count for draw in draws])
    for draw in draws:
        if draw.before + counts[draw.count.key] > draw.limit.most:
            raise OverLimit(draw.limit.scope)


def note_refusal(over: OverLimit, *, subscribables: Iterable[Subscribable], ip: str, now: datetime) -> None:
    """Counts it for the admin; the first of an hour and newsletter is logged, too."""
    scope = PROXY if over.scope == "ip" and is_near(ip) else over.scope
    counts = [_refusals(each, scope, now) for each in sorted(subscribables, key=lambda each: each.pk)]
    if 1 in add_one(counts).values():
        log.warning("Sign-ups are over the limit (%s): no more mails for a while.", over.scope)


def refusals(subscribable: Subscribable, *, now: datetime) -> dict[str, int]:
    """How many sign-ups to a newsletter were turned away within a day or so, by the limit's scope."""
    keys = {_refusals(subscribable, scope, now).key: scope for scope in (*ORDER, PROXY)}
    rows = Tally.objects.filter(key__in=keys, began_at__gte=now - LONGEST)
    return {keys[key]: int(total) for key, total in rows.values_list("key").annotate(Sum("count"))}


def _values(core: str, ip: str, subscribables: Iterable[Subscribable]) -> list[tuple[str, str]]:
    network = network_of(ip)
    mine = [("address", core), *([("ip", network)] if network else []), ("domain", core.rpartition("@")[2])]
    return [*mine, *(("newsletter", str(pk)) for pk in sorted(each.pk for each in subscribables))]


def _draw(limit: Limit, value: str, now: datetime) -> Draw:
    key = stamp("tally", f"{limit.scope}/{limit.period}/{value}")
    shard = getrandbits(SHARD_BITS) if limit.scope in SHARED else 0
    return Draw(limit, Count(limit.scope, key, slice_of(limit, now), shard))


def _judged(wanted: Sequence[Draw], now: datetime) -> list[Draw]:
    used = found({draw.count: counts_from(draw.limit, now) for draw in wanted})
    for draw in wanted:
        if is_over(draw.limit, used[draw.count.key][1]):
            raise OverLimit(draw.limit.scope)
    return [replace(draw, before=used[draw.count.key][0]) for draw in wanted]


def _refusals(subscribable: Subscribable, scope: str, now: datetime) -> Count:
    hour = slice_of(Limit(TURNED_AWAY, 0, LONGEST), now)
    return Count(TURNED_AWAY, stamp("tally", f"{TURNED_AWAY}/{scope}/{subscribable.pk}"), hour)
