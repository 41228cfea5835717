"""Context of a report: earlier ones, the reader, the domain."""

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Min, QuerySet

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
from subscriptions.models import Subscription


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
