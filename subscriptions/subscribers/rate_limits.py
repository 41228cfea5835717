"""Limits of sign-ups, counted in rows. Plain SQL, as every sign-up asks."""

import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from random import getrandbits

from django.conf import settings
from django.db import connection
from django.db.models import Sum

from common.db.prepared import rows_of
from common.net.addresses import networks_of
from common.signing import stamp
from subscriptions.models import Subscribable, Tally
from subscriptions.rules.limits import (
    LONGEST_PERIOD,
    PERIODS,
    Limit,
    counted_as,
    counts_from,
    is_near,
    is_reached,
    parse_limits,
    slice_of,
)

log = logging.getLogger(__name__)

TABLE = Tally._meta.db_table
Value = str | int | datetime
BEGAN_AT = Tally._meta.get_field("began_at")
# Order of locks, the least contended first.
ORDER = ("address", "ip", "domain", "newsletter")
# Rows are locked until commit. With one row for all readers, there was one sign-up per write. With 2⁴ rows,
# that many concurrent sign-ups may exceed a limit.
SHARED = frozenset({"domain", "newsletter"})
SHARD_BITS = 4
# Refusals of local addresses, probably our own proxy.
PROXY = "proxy"
TURNED_AWAY = "turned away"


@dataclass(frozen=True, slots=True)
class Count:
    scope: str
    key: str
    began_at: datetime
    shard: int = 0


def read_counts(wanted: Mapping[Count, datetime]) -> dict[str, tuple[int, int]]:
    """Return counts by key, without and with the row counted in now."""
    if not wanted:
        return {}
    each = (
        "SELECT %s, COALESCE(SUM(CASE WHEN began_at < %s OR shard <> %s THEN count END), 0), "  # noqa: S608
        "COALESCE(SUM(count), 0) "
        f"FROM {TABLE} WHERE key = %s AND began_at >= %s"
    )
    values: list[Value] = [
        value
        for count, since in wanted.items()
        for value in (count.key, _stored(count.began_at), count.shard, count.key, _stored(since))
    ]
    rows = rows_of(connection, " UNION ALL ".join([each] * len(wanted)), values)
    return {str(key): (int(before), int(used)) for key, before, used in rows}


def add_one(counts: Sequence[Count]) -> dict[str, int]:
    """Increment in one statement and return the new counts.

    Rows are locked in the given order, which must be the same everywhere.
    """
    if not counts:
        return {}
    row = ", ".join(["(%s, %s, %s, %s, 1)"] * len(counts))
    statement = (
        f"INSERT INTO {TABLE} (scope, key, began_at, shard, count) VALUES {row} "  # noqa: S608
        f"ON CONFLICT (key, began_at, shard) DO UPDATE SET count = {TABLE}.count + 1 RETURNING key, count"
    )
    values: list[Value] = [
        value for count in counts for value in (count.scope, count.key, _stored(count.began_at), count.shard)
    ]
    return {str(key): int(count) for key, count in rows_of(connection, statement, values)}


def _stored(moment: datetime) -> str | datetime:
    stored: str | datetime = BEGAN_AT.get_db_prep_save(moment, connection)
    return stored


class OverLimit(Exception):
    def __init__(self, scope: str) -> None:
        super().__init__(scope)
        self.scope = scope


@dataclass(frozen=True, slots=True)
class CountedRequest:
    """`before`: count of the other rows."""

    limit: Limit
    count: Count
    before: int = 0


@lru_cache(maxsize=8)
def limits_of(text: str) -> Mapping[str, Sequence[Limit]]:
    limits = parse_limits(text)
    return {scope: [limit for limit in limits if limit.scope == scope] for scope in ORDER}


def check_limits(
    *,
    core: str,
    ip: str,
    subscribables: Iterable[Subscribable],
    now: datetime,
    scopes: Collection[str] = ORDER,
) -> list[CountedRequest]:
    """Raises OverLimit."""
    limits = limits_of(settings.SIGN_UP_LIMITS)
    # Scope, counted value, and factor of the limit.
    values = [
        ("address", counted_as(core), 1),
        *(("ip", network, times) for network, times in networks_of(ip).items()),
        ("domain", core.rpartition("@")[2], 1),
        *(("newsletter", str(pk), 1) for pk in sorted(each.pk for each in subscribables)),
    ]
    return check_values(
        [
            (replace(limit, most=limit.most * times), value)
            for scope, value, times in values
            if scope in scopes
            for limit in limits[scope]
        ],
        now,
    )


def check_values(wanted: Iterable[tuple[Limit, str]], now: datetime) -> list[CountedRequest]:
    """Takes no locks, so a flood costs only reads. Raises OverLimit."""
    drawn = []
    for limit, value in wanted:
        key = stamp("tally", f"{limit.scope}/{limit.period}/{value}")
        shard = getrandbits(SHARD_BITS) if limit.scope in SHARED else 0
        drawn.append(CountedRequest(limit, Count(limit.scope, key, slice_of(limit, now), shard)))
    used = read_counts({draw.count: counts_from(draw.limit, now) for draw in drawn})
    for draw in drawn:
        if is_reached(draw.limit, used[draw.count.key][1]):
            raise OverLimit(draw.limit.scope)
    return [replace(draw, before=used[draw.count.key][0]) for draw in drawn]


def count_request(drawn: Sequence[CountedRequest]) -> None:
    """Call it last in the transaction. Raises OverLimit."""
    counts = add_one([request.count for request in drawn])
    for request in drawn:
        if request.before + counts[request.count.key] > request.limit.most:
            raise OverLimit(request.limit.scope)


def note_refusal(over: OverLimit, *, subscribables: Iterable[Subscribable], ip: str, now: datetime) -> None:
    """Logs the first of an hour and newsletter."""
    scope = PROXY if over.scope == "ip" and is_near(ip) else over.scope
    counts = [_refusals(each, scope, now) for each in sorted(subscribables, key=lambda each: each.pk)]
    if 1 in add_one(counts).values():
        log.warning("Sign-ups are over the limit (%s): no more mails for a while.", over.scope)


def count_refusals(subscribable: Subscribable, *, now: datetime) -> dict[str, int]:
    keys = {_refusals(subscribable, scope, now).key: scope for scope in (*ORDER, PROXY)}
    rows = Tally.objects.filter(key__in=keys, began_at__gte=now - LONGEST_PERIOD)
    return {keys[key]: int(total) for key, total in rows.values_list("key").annotate(Sum("count"))}


def _refusals(subscribable: Subscribable, scope: str, now: datetime) -> Count:
    hour = slice_of(Limit(TURNED_AWAY, 0, LONGEST_PERIOD), now)
    return Count(TURNED_AWAY, stamp("tally", f"{TURNED_AWAY}/{scope}/{subscribable.pk}"), hour)


HOUR, DAY = PERIODS["hour"], PERIODS["day"]
# Last digits ignored in “domain”: fraudsters have blocks of numbers.
ROW_OF_NUMBERS = 4
PHONE_LIMITS = (
    Limit("address", 2, HOUR),
    Limit("address", 4, DAY),
    Limit("ip", 4, HOUR),
    Limit("ip", 10, DAY),
    Limit("domain", 10, HOUR),
    Limit("newsletter", 200, HOUR),
)


def row_of(number: str) -> str:
    return number[:-ROW_OF_NUMBERS]


def check_phone_limits(
    *, core: str, ip: str, newsletter: Subscribable, now: datetime
) -> list[CountedRequest]:
    """Raises OverLimit."""
    values = {
        "address": {core: 1},
        "ip": networks_of(ip),
        "domain": {row_of(core): 1},
        "newsletter": {str(newsletter.pk): 1},
    }
    wanted = [
        (Limit(limit.scope, limit.most * times, limit.period), f"phone/{value}")
        for limit in PHONE_LIMITS
        for value, times in values[limit.scope].items()
    ]
    return check_values(wanted, now)
