"""Claims by limits only: lock the lane, filter the rows, and take what may go."""

from collections import Counter
from datetime import datetime
from typing import Any
from uuid import uuid4

from django.db import transaction

from delivery.lanes.limits import give_back_use, room, sift, use
from delivery.models import Delivery, Lane, LaneDomain
from tests.factories import NOW


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
