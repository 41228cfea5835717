"""Counts in rows that all processes share. (Plain SQL: every sign-up asks both questions.)"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import connection

from common.statements import rows_of
from subscriptions.models import Tally

TABLE = Tally._meta.db_table
Value = str | int | datetime
BEGAN_AT = Tally._meta.get_field("began_at")


@dataclass(frozen=True, slots=True)
class Count:
    """One thing that is counted, in its slice of time."""

    scope: str
    key: str
    began_at: datetime
    shard: int = 0


def found(wanted: Mapping[Count, datetime]) -> dict[str, tuple[int, int]]:
    """By key: what was counted from that moment on, but for the row at hand; and all, with that row."""
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
    """Adds one to each, by one statement, and returns what they come to, by key.

    Rows are locked in the order given: whoever adds to several gives them in the same order.
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
