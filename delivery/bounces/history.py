"""Context of a report: earlier ones, the reader, the domain.

Daily growth of lists, and bounces.
"""

from dataclasses import dataclass, field
from datetime import date, datetime
from typing import Any

from django.db.models import Min, Q, QuerySet
from django.utils import timezone

from common.ports.registries import kept_figures
from delivery.bounces.domain_refusals import ANSWERED, denies, letters_since
from delivery.models import Bounce, Delivery
from delivery.rules.bounce_policy import (
    FLOOD_LEAST,
    FLOOD_LETTERS,
    FLOOD_WINDOW,
    NOTHING_ARRIVES,
    SOFT_LETTERS,
    SOFT_WINDOW,
    BounceKind,
    History,
)
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.origin import first_monday
from subscriptions.subscribers.counts import growth, large_newsletters, per_day

WEEKS = 53
GROWTH = "growth"


@dataclass(slots=True)
class KnownDomains:
    """Results by lane and domain, for one transaction.

    `denying`: they deny too many addresses; `counts`: hard bounces and answers of others.
    """

    denying: set[tuple[int, str]] = field(default_factory=set)
    counts: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)


def history(*, bounce: Bounce, tried_at: datetime, known_domains: KnownDomains) -> History:
    """Return a stored bounce's context; `tried_at` is the letter's time."""
    delivery = bounce.delivery
    if delivery is None or bounce.kind not in (BounceKind.SOFT, BounceKind.HARD):
        return History()
    alike = Bounce.objects.filter(kind=bounce.kind)
    if bounce.kind == BounceKind.SOFT:
        days = alike.filter(destination=bounce.destination, at__gt=bounce.at - SOFT_WINDOW)
        # Duration of consecutive soft bounces; None if a letter did not bounce.
        row = None
        if delivery.issue_id is not None:
            letters = Delivery.objects.filter(destination=bounce.destination, issue__lte=delivery.issue_id)
            newest = letters.filter(state__in=ANSWERED).order_by("-issue")
            last = list(newest.values_list("pk", flat=True)[:SOFT_LETTERS])
            reports = alike.filter(delivery__in=last).order_by().values("delivery")
            first = [one["first"] for one in reports.annotate(first=Min("at"))]
            row = max(first) - min(first) if len(first) == SOFT_LETTERS else None
        return History(
            soft_days=frozenset(days.order_by().values_list("at__date", flat=True).distinct()),
            soft_row=row,
            confirmed_since=_confirmed_since(bounce, tried_at),
        )
    # The server may have said the same in an answer or report.
    same = alike.filter(delivery=delivery, at__gte=delivery.created_at).exclude(pk=bounce.pk)
    if same.exists():
        return History(known=True)
    confirmed = _confirmed_since(bounce, tried_at)
    place = (delivery.lane_id, bounce.domain)
    if place in known_domains.counts:
        hard, answered = known_domains.counts[place]
        known_domains.counts[place] = (hard + 1, answered)
    elif place in known_domains.denying or denies(lane_id=delivery.lane_id, domain=bounce.domain):
        return History(confirmed_since=confirmed, domain_held=True)
    elif bounce.domain and len(of_the_hour(bounce).values_list("pk")[:FLOOD_LEAST]) == FLOOD_LEAST:
        # Enough to count the domain's hard bounces and answers of that time.
        lately = letters_since(near=delivery, most=FLOOD_LETTERS, since=tried_at - FLOOD_WINDOW)
        bounced = of_the_hour(bounce).filter(delivery__in=lately).values("delivery").distinct()
        known_domains.counts[place] = (bounced.count(), len(lately))
    hard, answered = known_domains.counts.get(place, (0, 0))
    return History(confirmed_since=confirmed, domain_hard=hard, domain_answered=answered)


def of_the_hour(bounce: Bounce) -> "QuerySet[Bounce]":
    """Return the domain's undecided hard bounces within the hour."""
    recent = Bounce.objects.filter(
        domain=bounce.domain, at__gt=bounce.at - FLOOD_WINDOW, kind=BounceKind.HARD
    )
    return recent.filter(effect__in=("", NOTHING_ARRIVES), held=False).order_by()


def _confirmed_since(bounce: Bounce, tried_at: datetime) -> bool:
    rows = Subscription.objects.filter(destination=bounce.destination, status=Subscription.Status.CONFIRMED)
    return rows.filter(confirmed_at__gt=tried_at).exists()


def growth_of(subscribable: Subscribable, today: date) -> dict[str, dict[date, int]]:
    """Return a newsletter's figures, stored ones if large."""
    kept = kept_figures(GROWTH, [subscribable.pk]).get(subscribable.pk)
    if not kept or kept["zone"] != timezone.get_current_timezone_name():
        return counted_of(subscribable, today)
    return {
        name: {date.fromisoformat(day): count for day, count in days.items()}
        for name, days in kept["growth"].items()
    }


def count_growth() -> dict[int, dict[str, Any]]:
    """Count large newsletters, for storing."""
    today, zone = timezone.localdate(), timezone.get_current_timezone_name()
    found = {newsletter.pk: counted_of(newsletter, today) for newsletter in large_newsletters()}
    return {
        key: {
            "zone": zone,
            "growth": {
                name: {day.isoformat(): count for day, count in days.items()} for name, days in each.items()
            },
        }
        for key, each in found.items()
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
