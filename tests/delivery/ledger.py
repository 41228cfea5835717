"""Helpers that queue, claim and end deliveries in one line each.

Claims by limits only: lock the lane, filter the rows, and take what may go.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from django.db import transaction

from channels.base import Outcome
from delivery.engine.claim import claim_due
from delivery.engine.outcomes import record_outcomes
from delivery.engine.send_task import ClaimedDelivery, SendTask
from delivery.lanes.limits import give_back_use, room, sift, use
from delivery.models import Delivery, Issue, Lane, LaneDomain
from tests.factories import NOW, DeliveryFactory, IssueFactory, LaneFactory, SubscriptionFactory

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)


class Clock:
    """Clock that is set by hand."""

    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def a_lane(**changes: Any) -> Lane:
    """Return the email lane, its bucket refilled now."""
    lane: Lane = LaneFactory(refilled_at=NOW, **changes)
    return lane


def queued(count: int = 1, *, issue: Issue | None = None, **changes: Any) -> list[Delivery]:
    """Queue an issue for that many readers: reader0@example.org and so on in an empty database."""
    issue = issue or IssueFactory()
    changes.setdefault("lane", a_lane() if not Lane.objects.exists() else Lane.objects.first())
    return [DeliveryFactory(issue=issue, **changes) for _ in range(count)]


def a_mail(kind: str = "confirmation", **changes: Any) -> Delivery:
    """Queue a mail that is no issue and has priority."""
    context = {"newsletter": "Letter", "confirm_url": "https://letters.example/confirm/x/", "hours": "48"}
    usual = {"kind": kind, "priority": 1, "context": context, "subscription": SubscriptionFactory()}
    delivery: Delivery = DeliveryFactory(**{**usual, **changes})
    return delivery


def claimed(
    *, now: datetime = NOW, lane: Lane | None = None, in_flight: int = 0
) -> tuple[ClaimedDelivery, ...]:
    """Claim as a worker does whose connections send five messages a second."""
    lane = lane or Lane.objects.get()
    return claim_due(lane_id=lane.pk, now=now, in_flight=in_flight, expected=5).rows


def ended(outcome: Outcome, *rows: ClaimedDelivery, at: datetime = NOW, begun: bool = True) -> list[Delivery]:
    """Record that outcome for those rows; return the updated deliveries."""
    record_outcomes([ended_task(row, outcome, at, begun=begun) for row in rows])
    return [Delivery.objects.get(pk=row.pk) for row in rows]


def ended_task(row: ClaimedDelivery, outcome: Outcome, at: datetime = NOW, *, begun: bool = True) -> SendTask:
    """Return a task that has ended."""
    return SendTask(row, outcome=outcome, at=at, begun=begun)


def one_ended(outcome: Outcome, *, at: datetime = NOW) -> Delivery:
    """Return one delivery, claimed and ended with that outcome."""
    queued()
    (row,) = ended(outcome, *claimed(), at=at)
    return row


def states() -> dict[str, int]:
    return dict(Counter(Delivery.objects.values_list("state", flat=True)))


def attempts(row: Delivery) -> list[tuple[str, str]]:
    return list(row.attempt_rows.order_by("pk").values_list("outcome", "text"))


def cores(rows: Sequence[Delivery] | Sequence[ClaimedDelivery]) -> list[str]:
    return [row.destination.core for row in rows]


def limited(lane: Lane, domain: str = "gmail.example", **limits: Any) -> LaneDomain:
    """Create a domain of the lane with limits, its bucket refilled now."""
    return LaneDomain.objects.create(lane=lane, domain=domain, refilled_at=NOW, **limits)


@transaction.atomic
def take(lane: Lane, now: datetime = NOW, *, most: int = 1000) -> list[int]:
    """Return the keys of the taken rows; the others are delayed or held. None if the lane is locked."""
    locked = Lane.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=lane.pk).first()
    if locked is None:
        return []
    due = Delivery.objects.due(now).filter(lane=lane).order_by("priority", "due_at", "pk")
    rows = list(due.values_list("pk", "domain", "priority")[: min(room(locked, now)[0], most)])
    urgent = {pk for pk, _, priority in rows if priority < 5}
    keys, later, hold = sift(locked, [(pk, domain) for pk, domain, _ in rows], now, urgent=urgent)
    for pks, due_at in later:
        Delivery.objects.filter(pk__in=pks).update(due_at=due_at)
    Delivery.objects.filter(pk__in=hold).update(state="held", held_for="domain")
    taken = Delivery.objects.filter(pk__in=keys)
    taken.update(state="sending", lease_token=uuid4(), lease_until=now)
    use(locked, Counter(taken.values_list("domain", flat=True)), now)
    return keys


@transaction.atomic
def give_back(lane: Lane, pks: list[int], claimed_at: datetime = NOW) -> None:
    rows = Delivery.objects.filter(pk__in=pks)
    rows.update(state="queued", lease_token=None, lease_until=None)
    lane = Lane.objects.get(pk=lane.pk)
    give_back_use(lane, Counter(rows.values_list("domain", flat=True)), claimed_at)


def finish(pks: list[int]) -> None:
    Delivery.objects.filter(pk__in=pks).update(state="sent", lease_token=None, lease_until=None)
