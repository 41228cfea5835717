"""Subscribers, counted on demand or kept for very large newsletters.

Index of parts of names, on PostgreSQL.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.models import CharField, Count, F, QuerySet
from django.db.models.functions import Substr, TruncDate

from common.ports.registries import LARGE, kept_figures
from subscriptions.models import Subscribable, Subscription
from subscriptions.subscribers.leave import reasons_for_leaving

log = logging.getLogger(__name__)
TABLE = Subscription._meta.db_table
# As Django compares with `icontains`.
INDEX = (
    f"CREATE INDEX IF NOT EXISTS subscription_name ON {TABLE} "
    "USING gin (UPPER(display_name::text) gin_trgm_ops)"
)
COUNTED_MOMENTS: Mapping[str, str] = {"new": "added_at", "confirmed": "confirmed_at", "left": "left_at"}
KIND = "readers"
LANGUAGES, EVERYBODY = "languages", 0
MOST_LANGUAGES = 100


def growth(*, subscribable: Subscribable | None, since: date, zone: tzinfo) -> dict[str, dict[date, int]]:
    """Return daily counts of `MOMENTS`. Three queries.

    Imported unsubscribed people count as leaving only if they left after confirming.
    """
    rows = Subscription.objects.all() if subscribable is None else subscribable.subscriptions.all()
    were_here = rows.filter(confirmed_at__lt=F("left_at"))
    return {
        name: per_day(were_here if name == "left" else rows, field, since=since, zone=zone)
        for name, field in COUNTED_MOMENTS.items()
    }


def per_day(rows: "QuerySet[Any]", field: str, *, since: date, zone: tzinfo) -> dict[date, int]:
    begin = datetime(since.year, since.month, since.day, tzinfo=zone)
    within = rows.filter(**{f"{field}__gte": begin}).order_by()
    if connections[rows.db].vendor == "sqlite":
        # SQLite has no zones, and Django's Python function would run for every row. Ten minutes ("2026-03-02
        # 12:3") are within one day in all zones.
        piece = Substr(F(field), 1, len("2026-03-02 12:3"), output_field=CharField())
        days: Counter[date] = Counter()
        for text, count in within.annotate(piece=piece).values_list("piece").annotate(n=Count("pk")):
            days[datetime.fromisoformat(f"{text}0").replace(tzinfo=UTC).astimezone(zone).date()] += count
        return dict(days)
    return dict(within.annotate(day=TruncDate(field, tzinfo=zone)).values_list("day").annotate(n=Count("pk")))


def reader_counts(newsletter: Subscribable) -> Mapping[str, Any]:
    return kept_figures(KIND, [newsletter.pk]).get(newsletter.pk) or _count(newsletter)


def confirmed_counts(newsletters: Iterable[int]) -> dict[int, int]:
    """Takes two queries."""
    keys = list(newsletters)
    counts = {key: int(kept["confirmed"]) for key, kept in kept_figures(KIND, keys).items()}
    rows = Subscription.objects.confirmed().filter(
        subscribable__in=[key for key in keys if key not in counts]
    )
    counted = rows.order_by().values_list("subscribable").annotate(n=Count("*"))
    return dict.fromkeys(keys, 0) | dict(counted) | counts


def reachable_count(newsletter: Subscribable) -> int:
    kept = kept_figures(KIND, [newsletter.pk]).get(newsletter.pk)
    if kept:
        return int(kept["reachable"])
    return Subscription.objects.reachable().filter(subscribable=newsletter).count()


def large_newsletters() -> list[Subscribable]:
    rows = Subscription.objects.order_by().values("subscribable").annotate(n=Count("*")).filter(n__gt=LARGE)
    return list(Subscribable.objects.filter(pk__in=rows.values_list("subscribable")))


def count_readers() -> dict[int, dict[str, object]]:
    return {newsletter.pk: _count(newsletter) for newsletter in large_newsletters()}


def subscriber_languages() -> list[str]:
    """Reads every row unless the languages are kept."""
    kept = kept_figures(LANGUAGES, [EVERYBODY]).get(EVERYBODY)
    rows = Subscription.objects.order_by().values_list("language", flat=True).distinct()
    return list(kept) if kept else sorted(rows[:MOST_LANGUAGES])


def count_languages() -> dict[int, list[str]]:
    rows = Subscription.objects.order_by().values_list("language", flat=True)
    return {EVERYBODY: sorted(rows.distinct()[:MOST_LANGUAGES])} if rows[: LARGE + 1].count() > LARGE else {}


def _count(newsletter: Subscribable) -> dict[str, object]:
    """`confirmed` excludes ended ones; `reachable` also disabled addresses."""
    rows = newsletter.subscriptions.order_by()
    confirmed = Subscription.objects.confirmed().filter(subscribable=newsletter)
    count, disabled = confirmed.count(), confirmed.filter(destination__disabled_at__isnull=False).count()
    return {
        "confirmed": count,
        "reachable": count - disabled,
        "by_status": dict(rows.values_list("status").annotate(n=Count("*"))),
        "why_left": reasons_for_leaving(newsletter),
    }


def ensure_index(using: str, **_: Any) -> None:
    """Receives post_migrate. Some providers refuse the extension; then a search reads all rows."""
    database = connections[using]
    if database.vendor != "postgresql":
        return
    try:
        with transaction.atomic(using), database.cursor() as cursor:
            if TABLE in database.introspection.table_names(cursor):
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
                cursor.execute(INDEX)
    except DatabaseError as error:
        log.info("searches of subscribers' names have no index: %s", error)
