"""What the ledger knows beside a report: earlier reports, the reader, the domain."""

from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from django.db.models import Min, QuerySet

from delivery.bounces.domain_refusals import denies
from delivery.bounces.recent_letters import ANSWERED, letters_since
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
class Together:
    """What bounces that are taken down in one transaction need not find out each for itself.

    By lane and domain: those that were found to deny too many addresses, and the counts of the others.
    """

    denying: set[tuple[int, str]] = field(default_factory=set)
    counts: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)


def history(*, bounce: Bounce, tried_at: datetime, together: Together) -> History:
    """For a bounce whose row is stored, of a letter that was tried at that time."""
    delivery = bounce.delivery
    if bounce.kind == BounceKind.SOFT and delivery is not None:
        return History(
            soft_days=_soft_days(bounce),
            soft_row=_soft_row(bounce, delivery),
            confirmed_since=_confirmed_since(bounce, tried_at),
        )
    if bounce.kind == BounceKind.HARD and delivery is not None:
        return _of_hard(bounce, delivery, tried_at, together)
    return History()


def of_the_hour(bounce: Bounce) -> "QuerySet[Bounce]":
    """The domain's hard bounces of the hour, this one included, that nobody has decided on."""
    recent = Bounce.objects.filter(
        domain=bounce.domain, at__gt=bounce.at - FLOOD_WINDOW, kind=BounceKind.HARD
    )
    return recent.filter(effect__in=("", NOTHING_ARRIVES), held=False).order_by()


def _of_hard(bounce: Bounce, delivery: Delivery, tried_at: datetime, together: Together) -> History:
    if _is_known(bounce, delivery):
        return History(known=True)
    confirmed = _confirmed_since(bounce, tried_at)
    place = (delivery.lane_id, bounce.domain)
    if place in together.counts:
        hard, answered = together.counts[place]
        together.counts[place] = (hard + 1, answered)
    elif place in together.denying or denies(lane_id=delivery.lane_id, domain=bounce.domain):
        return History(confirmed_since=confirmed, domain_held=True)
    elif bounce.domain and _are_enough(bounce):
        together.counts[place] = _counts(bounce, delivery, tried_at)
    hard, answered = together.counts.get(place, (0, 0))
    return History(confirmed_since=confirmed, domain_hard=hard, domain_answered=answered)


def _is_known(bounce: Bounce, delivery: Delivery) -> bool:
    """Whether a server said the same of this letter since it was last queued: by an answer, or a report."""
    rows = Bounce.objects.filter(delivery=delivery, kind=BounceKind.HARD, at__gte=delivery.created_at)
    return rows.exclude(pk=bounce.pk).exists()


def _soft_days(bounce: Bounce) -> frozenset[date]:
    rows = Bounce.objects.filter(
        destination=bounce.destination, kind=BounceKind.SOFT, at__gt=bounce.at - SOFT_WINDOW
    )
    return frozenset(rows.order_by().values_list("at__date", flat=True).distinct())


def _soft_row(bounce: Bounce, delivery: Delivery) -> timedelta | None:
    """Over how long the last letters to the address bounced softly, up to this one; None if one did not."""
    if delivery.issue_id is None:
        return None
    letters = Delivery.objects.filter(destination=bounce.destination, issue__lte=delivery.issue_id)
    last = letters.filter(state__in=ANSWERED).order_by("-issue").values_list("pk", flat=True)[:SOFT_LETTERS]
    reports = Bounce.objects.filter(delivery__in=list(last), kind=BounceKind.SOFT).order_by()
    first = [row["first"] for row in reports.values("delivery").annotate(first=Min("at"))]
    return max(first) - min(first) if len(first) == SOFT_LETTERS else None


def _confirmed_since(bounce: Bounce, tried_at: datetime) -> bool:
    rows = Subscription.objects.filter(destination=bounce.destination, status=Subscription.Status.CONFIRMED)
    return rows.filter(confirmed_at__gt=tried_at).exists()


def _are_enough(bounce: Bounce) -> bool:
    """Whether so many bounced hard within the hour that the letters beside them are worth a look."""
    return len(of_the_hour(bounce).values_list("pk")[:FLOOD_LEAST]) == FLOOD_LEAST


def _counts(bounce: Bounce, delivery: Delivery, tried_at: datetime) -> tuple[int, int]:
    """Of the domain's letters that were tried about then: those that bounced hard, and all with an answer."""
    letters = letters_since(near=delivery, most=FLOOD_LETTERS, since=tried_at - FLOOD_WINDOW)
    hard = of_the_hour(bounce).filter(delivery__in=letters).values("delivery").distinct().count()
    return hard, len(letters)
