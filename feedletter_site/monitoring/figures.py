"""Figures of the overview.

Small tables are counted for each page. For large ones workers store the figures every few minutes.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from django.core.cache import cache
from django.utils import timezone

from common.clock import utcnow
from common.ports.channels import person_kinds
from common.ports.registries import LARGE, counters
from delivery.bounces.list_growth import counted_growth, read_growth, written_growth
from delivery.issues.progress import counts_of
from delivery.models import Issue
from delivery.models.issue import SENT_HERE
from delivery.rules.progress import total, waiting
from feedletter_site.models import Figure
from subscriptions.branding.brands import admin_zone
from subscriptions.models import Subscription

T = TypeVar("T")
ISSUES = 4
FIGURES_NAME = "overview"
# Slower counts are stored; those older than TOO_OLD are not used.
SLOW_SECONDS, SELDOM_SECONDS = 0.15, 0.01
TOO_OLD = timedelta(minutes=20)


@dataclass(frozen=True, slots=True)
class Figures:
    """Counts by day in the admin's zone; `growth` is as in rules.growth.

    `issues` has counts by key: of the newest issues, or of the large finished ones if they were stored.
    """

    today: date
    subscribers: int
    growth: Mapping[str, Mapping[date, int]]
    issues: Mapping[int, Mapping[str, int]]


def overview_figures(now: datetime) -> Figures:
    row = Figure.objects.filter(pk=FIGURES_NAME).first()
    if row is not None and row.counted_at > now - TOO_OLD and row.value["zone"] == _zone():
        return _read(row.value)
    return _count(row)


def count_again() -> None:
    with timezone.override(admin_zone()):
        _count(Figure.objects.filter(pk=FIGURES_NAME).first())
    for kind, count in counters.items():
        # Replaces all former figures.
        rows = [
            Figure(name=f"{kind}:{key}", value=each, counted_at=utcnow()) for key, each in count().items()
        ]
        old = Figure.objects.filter(name__startswith=f"{kind}:")
        old.exclude(name__in=[row.name for row in rows]).delete()
        Figure.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["name"], update_fields=["value", "counted_at"]
        )


def kept(kind: str, keys: Iterable[int]) -> dict[int, Any]:
    names = {f"{kind}:{key}": key for key in keys}
    rows = Figure.objects.filter(name__in=names, counted_at__gt=utcnow() - TOO_OLD) if names else ()
    return {names[row.name]: row.value for row in rows}


def seldom(name: str, ask: Callable[[], T]) -> T:
    """Return the answer, at most a minute old if it takes long: it reads a whole table."""
    known: T | None = cache.get(key := f"seldom-{name}")
    if known is not None:
        return known
    began, answer = time.monotonic(), ask()
    if time.monotonic() - began > SELDOM_SECONDS:
        cache.set(key, answer, 60)
    return answer


def newest_issues() -> list[Issue]:
    """Return issues of newsletters, or of bridges if there are no others."""
    out = Issue.objects.filter(SENT_HERE, published_at__isnull=False).select_related("subscribable")
    out = out.defer("html", "text", "placeholders").order_by("-published_at", "-pk")
    people = [kind.key for kind in person_kinds()]
    return list(out.filter(subscribable__channel__in=people)[:ISSUES]) or list(out[:ISSUES])


def issue_counts(issues: list[Issue], known: Mapping[int, Mapping[str, int]]) -> dict[int, Counter[str]]:
    """Return counts by state; `known` issues are not counted again."""
    counts = {issue.pk: Counter(dict(known[issue.pk])) for issue in issues if issue.pk in known}
    return counts | counts_of(issue.pk for issue in issues if issue.pk not in counts)


def _count(kept: Figure | None) -> Figures:
    began, today = time.monotonic(), timezone.localdate()
    figures = Figures(
        today=today,
        subscribers=Subscription.objects.confirmed().count(),
        growth=counted_growth(today),
        issues=issue_counts(newest_issues(), {}),
    )
    if time.monotonic() - began > SLOW_SECONDS:
        Figure.objects.update_or_create(
            pk=FIGURES_NAME, defaults={"value": _written(figures), "counted_at": utcnow()}
        )
    elif kept is not None:
        Figure.objects.filter(pk=FIGURES_NAME).delete()
    return figures


def _zone() -> str:
    return timezone.get_current_timezone_name()


def _written(found: Figures) -> dict[str, Any]:
    return {
        "zone": _zone(),
        "today": found.today.isoformat(),
        "subscribers": found.subscribers,
        "growth": written_growth(found.growth),
        "issues": {
            str(pk): dict(counts)
            for pk, counts in found.issues.items()
            if total(counts) >= LARGE and not (waiting(counts) or counts.get("held"))
        },
    }


def _read(value: Mapping[str, Any]) -> Figures:
    return Figures(
        today=date.fromisoformat(value["today"]),
        subscribers=value["subscribers"],
        growth=read_growth(value["growth"]),
        issues={int(pk): counts for pk, counts in value["issues"].items()},
    )
