from collections.abc import Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

# Larger counts are estimates.
EXACT = 50_000

_ABOUT = """
SELECT reltuples, most_common_vals::text::text[], most_common_freqs
FROM pg_class LEFT JOIN pg_stats ON schemaname = relnamespace::regnamespace::text AND tablename = relname
    AND attname = %s
WHERE pg_class.oid = %s::regclass
"""


def count_of(related: "QuerySet[Any]", key: str) -> Coalesce:
    """Count by `key`, without a join."""
    own = related.filter(**{key: OuterRef("pk")}).order_by().values(key)
    return Coalesce(Subquery(own.annotate(n=Count("pk")).values("n"), output_field=IntegerField()), 0)


def counted_by(
    rows: "QuerySet[Any]", column: str, *, found_by: Mapping[str, Sequence[str]]
) -> dict[str, int]:
    """Count the rows for each value, exactly in a small table.

    In a large one, values of `found_by` (with an index in that order) are exact up to EXACT; others are the
    planner's estimates.
    """
    if connection.vendor != "postgresql":
        return exactly(rows, column)
    with connection.cursor() as cursor:
        cursor.execute(_ABOUT, [column, rows.model._meta.db_table])
        in_all, values, shares = cursor.fetchone()
    if in_all < EXACT or not values:
        return exactly(rows, column)
    about = {value: round(in_all * share) for value, share in zip(values, shares, strict=True)}
    exact = {
        value: rows.filter(**{column: value}).order_by(*order).values("pk")[:EXACT].count()
        for value, order in found_by.items()
    }
    return about | {
        value: max(count, about.get(value, 0)) if count >= EXACT else count for value, count in exact.items()
    }


def exactly(rows: "QuerySet[Any]", column: str) -> dict[str, int]:
    return dict(rows.order_by().values_list(column).annotate(Count("pk")))
