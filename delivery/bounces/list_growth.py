"""Daily growth of lists, and bounces."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from django.db.models import Q
from django.utils import timezone

from common.ports.registries import kept_figures
from delivery.models import Bounce
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.origin import first_monday
from subscriptions.subscribers.counts import growth, large_newsletters, per_day

WEEKS = 53
GROWTH = "growth"


def growth_of(subscribable: Subscribable, today: date) -> dict[str, dict[date, int]]:
    """Return a newsletter's figures, stored ones if large."""
    kept = kept_figures(GROWTH, [subscribable.pk]).get(subscribable.pk)
    if not kept or kept["zone"] != timezone.get_current_timezone_name():
        return counted_of(subscribable, today)
    return read_growth(kept["growth"])


def count_growth() -> dict[int, dict[str, Any]]:
    """Count large newsletters, for storing."""
    today, zone = timezone.localdate(), timezone.get_current_timezone_name()
    return {
        newsletter.pk: {"zone": zone, "growth": written_growth(counted_of(newsletter, today))}
        for newsletter in large_newsletters()
    }


def written_growth(figures: Mapping[str, Mapping[date, int]]) -> dict[str, dict[str, int]]:
    """Return figures as JSON."""
    return {name: {day.isoformat(): count for day, count in days.items()} for name, days in figures.items()}


def read_growth(written: Mapping[str, Mapping[str, int]]) -> dict[str, dict[date, int]]:
    return {
        name: {date.fromisoformat(day): count for day, count in days.items()}
        for name, days in written.items()
    }


def counted_growth(today: date) -> dict[str, dict[date, int]]:
    """Count all newsletters; `gone`: confirmed readers who left."""
    found = counted_of(None, today)
    left = Subscription.objects.filter(confirmed_at__isnull=False)
    since, zone = first_monday(today, WEEKS), timezone.get_current_timezone()
    return {**found, "gone": per_day(left, "left_at", since=since, zone=zone)}


def counted_of(subscribable: Subscribable | None, today: date) -> dict[str, dict[date, int]]:
    """Count one newsletter or all. Four queries."""
    since, zone = first_monday(today, WEEKS), timezone.get_current_timezone()
    found = growth(subscribable=subscribable, since=since, zone=zone)
    bounces = Bounce.objects.filter(
        kind__in=(Bounce.Kind.HARD, Bounce.Kind.COMPLAINT), destination__isnull=False
    )
    if subscribable is not None:
        bounces = bounces.filter(
            Q(delivery__subscription__subscribable=subscribable)
            | Q(delivery__subscription=None, delivery__issue__subscribable=subscribable)
        )
    found["bounced"] = per_day(bounces, "at", since=since, zone=zone)
    return found
