"""Rate limits: how often a client may do something.

The cache may lose its counts. Limits that guard mail and passwords count in rows, and hold for any period: it
has slices, and all that overlap it count.
"""

import math
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import getrandbits
from typing import Any

from django.apps import apps
from django.core.cache import cache
from django.db import connection, transaction

from common.db.prepared import rows_of
from common.net.addresses import is_near, networks_of

MINUTE, HOUR, DAY = 60, 3_600, 86_400
PERIODS = {"minute": MINUTE, "hour": HOUR, "day": DAY}
# Twice the longest period, for clocks that are a little behind.
KEPT_FOR = timedelta(days=2)
FORGOTTEN_AT_ONCE = 5_000
# Names of the limits behind an undeclared proxy: of all its visitors, and of the one that it names.
CROWD, CLAIM = "proxy", "proxy claim"
# All together may do so many times as much as one.
CROWD_TIMES = 20
SLICES = 6
# Rows are locked until commit. With one row for all readers, there was one sign-up per write. With 2⁴ rows,
# that many concurrent sign-ups may exceed a limit.
SHARD_BITS = 4
HIGHEST = 1_000_000_000
TABLE = "common_tally"
_LIMIT = re.compile(r"(\w+)\s*=\s*([0-9]{1,10})\s*/\s*(\w+)")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Limit:
    """`is_shared`: very many clients have one count."""

    name: str
    most: int
    seconds: int = MINUTE
    is_shared: bool = False

    @property
    def slice(self) -> timedelta:
        return timedelta(seconds=self.seconds) / SLICES

    def slice_of(self, moment: datetime) -> datetime:
        return _EPOCH + (moment - _EPOCH) // self.slice * self.slice

    def counts_from(self, now: datetime) -> datetime:
        return self.slice_of(now) - timedelta(seconds=self.seconds)

    def by_network(self, ip: str, what: str = "") -> "Iterator[Use]":
        """Yield a use for each network by which the address is counted."""
        for network, times in networks_of(ip).items():
            yield replace(self, most=self.most * times), f"{what} {network}".lstrip()

    def by_visitor(self, ip: str, claimed: str, what: str = "") -> "Iterator[Use]":
        """Yield as `by_network`, unless the address is nearby, and so probably that of a proxy."""
        if not is_near(ip):
            yield from self.by_network(ip, what)
            return
        if claimed:
            yield from replace(self, name=CLAIM).by_network(claimed, what)
        most = self.most * CROWD_TIMES
        yield from replace(self, name=CROWD, most=most, is_shared=True).by_network(ip, what)


# Limit, and the client that is counted.
Use = tuple[Limit, str]


class OverLimit(Exception):
    def __init__(self, limit: Limit, key: str) -> None:
        super().__init__(limit.name)
        self.limit, self.key = limit, key

    def seconds_left(self, now: datetime) -> int:
        """Return when the earliest uses are too old to count."""
        counted = apps.get_model("common", "Tally").objects.filter(
            key=self.key, began_at__gte=self.limit.counts_from(now)
        )
        began = counted.order_by("began_at").values_list("began_at", flat=True).first() or now
        return math.ceil((began - now + self.limit.slice).total_seconds()) + self.limit.seconds


def parse_limits(text: str, usual: str = "") -> tuple[Limit, ...]:
    """Parse "ip=10/hour, ip=30/day". Names of `usual` that are missing have that one. Raises ValueError."""
    named, others = list(_parsed(text)), list(_parsed(usual))
    if usual and (unknown := {limit.name for limit in named} - {limit.name for limit in others}):
        raise ValueError(unknown.pop())
    there = {limit.name for limit in named}
    return (*named, *(limit for limit in others if limit.name not in there))


def _parsed(text: str) -> Iterator[Limit]:
    for part in filter(None, map(str.strip, text.split(","))):
        match = _LIMIT.fullmatch(part)
        if match is None or match[3] not in PERIODS or int(match[2]) > HIGHEST:
            raise ValueError(part)
        yield Limit(match[1], int(match[2]), PERIODS[match[3]])


def count_use(use: Use) -> int:
    """Count in the cache, where a period begins with its first use."""
    key = _cache_key(use)
    cache.add(key, 0, use[0].seconds)
    try:
        return cache.incr(key)
    except ValueError:  # expired in between
        return 1


def count_within(*uses: Use) -> bool:
    """Count all in the cache. Return whether all are within their limits."""
    # Not short-circuited: every network must be counted.
    within = [count_use(use) <= use[0].most for use in uses]
    return all(within)


def is_reached(*uses: Use) -> bool:
    """Look into the cache, without counting."""
    return any(cache.get(_cache_key(use), 0) >= use[0].most for use in uses)


def _cache_key(use: Use) -> str:
    # Caches allow no spaces.
    return f"rate:{use[0].name}:{use[1]}".replace(" ", "/")


@dataclass(frozen=True, slots=True)
class RateRow:
    """`before`: count of the other rows of the period."""

    limit: Limit
    key: str
    began_at: datetime
    shard: int
    before: int = 0


def rows_for(uses: Iterable[Use], now: datetime) -> list[RateRow]:
    # The settings import this module, and signing needs settings.
    from common.signing import stamp

    return [
        RateRow(
            limit,
            stamp("tally", f"{limit.name}/{limit.seconds}/{client}"),
            limit.slice_of(now),
            getrandbits(SHARD_BITS) if limit.is_shared else 0,
        )
        for limit, client in uses
    ]


def read_rows(rows: Collection[RateRow], now: datetime) -> dict[str, tuple[int, int]]:
    """Return counts by key, without and with the row counted in now."""
    if not rows:
        return {}
    each = (
        "SELECT %s, COALESCE(SUM(CASE WHEN began_at < %s OR shard <> %s THEN count END), 0), "  # noqa: S608
        f"COALESCE(SUM(count), 0) FROM {TABLE} WHERE key = %s AND began_at >= %s"
    )
    values = [
        value
        for row in rows
        for value in (row.key, _stored(row.began_at), row.shard, row.key, _stored(row.limit.counts_from(now)))
    ]
    found = rows_of(connection, " UNION ALL ".join([each] * len(rows)), values)
    return {str(key): (int(before), int(used)) for key, before, used in found}


def add_rows(rows: Collection[RateRow]) -> dict[str, int]:
    """Increment each in one statement and return the new counts by key.

    Rows are locked in the given order, which must be the same everywhere.
    """
    if not rows:
        return {}
    places = ", ".join(["(%s, %s, %s, %s, 1)"] * len(rows))
    statement = (
        f"INSERT INTO {TABLE} (scope, key, began_at, shard, count) VALUES {places} "  # noqa: S608
        f"ON CONFLICT (key, began_at, shard) DO UPDATE SET count = {TABLE}.count + 1 RETURNING key, count"
    )
    values = [value for row in rows for value in (row.limit.name, row.key, _stored(row.began_at), row.shard)]
    return {str(key): int(total) for key, total in rows_of(connection, statement, values)}


def _stored(moment: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(moment)


def check_rows(uses: Iterable[Use], now: datetime) -> list[RateRow]:
    """Takes no locks, so a flood costs only reads. Raises OverLimit."""
    rows = rows_for(uses, now)
    counts = read_rows(rows, now)
    for row in rows:
        if counts[row.key][1] >= row.limit.most:
            raise OverLimit(row.limit, row.key)
    return [replace(row, before=counts[row.key][0]) for row in rows]


def count_rows(rows: Collection[RateRow]) -> None:
    """Count what was checked. Call it last in the transaction. Raises OverLimit."""
    counts = add_rows(rows)
    for row in rows:
        if row.before + counts[row.key] > row.limit.most:
            raise OverLimit(row.limit, row.key)


def count_rows_within(*uses: Use, now: datetime) -> bool:
    """Count all in rows, unless one is over its limit. Return whether all are within."""
    try:
        with transaction.atomic():
            count_rows(check_rows(uses, now))
    except OverLimit:
        return False
    return True


def forget_rows(*, now: datetime) -> int:
    """In batches, as a delete locks its rows, and on SQLite the database."""
    total = 0
    while True:
        with connection.cursor() as cursor:
            cursor.execute(
                f"DELETE FROM {TABLE} WHERE id IN (SELECT id FROM {TABLE} WHERE began_at < %s LIMIT %s)",  # noqa: S608
                [_stored(now - KEPT_FOR), FORGOTTEN_AT_ONCE],
            )
            count_use = int(cursor.rowcount)
        total += count_use
        if count_use < FORGOTTEN_AT_ONCE:
            return total
