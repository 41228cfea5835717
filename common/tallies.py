"""How many rows there are of each kind, without looking at millions of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Count, QuerySet

# Up to so many rows are counted; of more, the database says how many there are about.
EXACT = 50_000

_ABOUT = """
SELECT reltuples, most_common_vals::text::text[], most_common_freqs
FROM pg_class LEFT JOIN pg_stats ON schemaname = relnamespace::regnamespace::text AND tablename = relname
    AND attname = %s
WHERE pg_class.oid = %s::regclass
"""


def counted_by(
    rows: "QuerySet[Any]", column: str, *, found_by: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """The rows by that column. Exact in a small table; in a large one so are the values of `found_by`, up to
    EXACT of each. Those have an index, and their order in it. The others are what the database remembers.
    """
    about = _about(rows.model, column)
    if about is None:
        return exactly(rows, column)
    exact = {
        value: rows.filter(**{column: value}).order_by(*order).values("pk")[:EXACT].count()
        for value, order in found_by.items()
    }
    return about | {
        value: max(count, about.get(value, 0)) if count >= EXACT else count for value, count in exact.items()
    }


def exactly(rows: "QuerySet[Any]", column: str) -> dict[str, int]:
    """By looking at each."""
    return dict(rows.order_by().values_list(column).annotate(Count("pk")))


def _about(model: Any, column: str) -> dict[str, int] | None:
    """What PostgreSQL remembers of a large table; None for a small one."""
    if connection.vendor != "postgresql":
        return None
    with connection.cursor() as cursor:
        cursor.execute(_ABOUT, [column, model._meta.db_table])
        rows, values, shares = cursor.fetchone()
    if rows < EXACT or not values:
        return None
    return {value: round(rows * share) for value, share in zip(values, shares, strict=True)}
