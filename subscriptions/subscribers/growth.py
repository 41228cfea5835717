"""How a list grows and shrinks: how many were new, confirmed and left on each day, counted from the rows."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from django.db import connections
from django.db.models import CharField, Count, F, QuerySet
from django.db.models.functions import Substr, TruncDate

from subscriptions.models import Subscribable, Subscription

# The figures of a day, each with the moment by which a subscription counts for it.
MOMENTS: Mapping[str, str] = {"new": "added_at", "confirmed": "confirmed_at", "left": "left_at"}


def growth(*, subscribable: Subscribable | None, since: date, zone: tzinfo) -> dict[str, dict[date, int]]:
    """For each of `MOMENTS`, how many on each day since, of one newsletter or of all. Three queries.

    People whom a list brought as unsubscribed did not leave here: they never confirmed here, or the list says
    no later day for their leaving than for that.
    """
    rows = Subscription.objects.all() if subscribable is None else subscribable.subscriptions.all()
    were_here = rows.filter(confirmed_at__lt=F("left_at"))
    return {
        name: per_day(were_here if name == "left" else rows, field, since=since, zone=zone)
        for name, field in MOMENTS.items()
    }


def per_day(rows: "QuerySet[Any]", field: str, *, since: date, zone: tzinfo) -> dict[date, int]:
    """How many rows have their moment on each day of the zone."""
    begin = datetime(since.year, since.month, since.day, tzinfo=zone)
    within = rows.filter(**{f"{field}__gte": begin}).order_by()
    if connections[rows.db].vendor == "sqlite":
        # SQLite knows no zones, and Django's function for them is one of Python's, called for every row. So
        # rows are counted by "2026-03-02 12:3": ten minutes, which lie in one day of every zone.
        piece = Substr(F(field), 1, len("2026-03-02 12:3"), output_field=CharField())
        days: Counter[date] = Counter()
        for text, count in within.annotate(piece=piece).values_list("piece").annotate(n=Count("pk")):
            days[datetime.fromisoformat(f"{text}0").replace(tzinfo=UTC).astimezone(zone).date()] += count
        return dict(days)
    return dict(within.annotate(day=TruncDate(field, tzinfo=zone)).values_list("day").annotate(n=Count("pk")))
