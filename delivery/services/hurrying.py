"""Ending back-off by hand. Lanes keep their limits, collections their ends, workers their leases."""

from datetime import datetime

from delivery.models import Delivery
from subscriptions.models import Assignable


def hurry_collections(*, now: datetime) -> int:
    """Collections that wait after a failure are tried at once. Returns how many."""
    return Assignable.objects.filter(next_try_at__gt=now, failures__gt=0).update(next_try_at=now)


def hurry_deliveries(*, now: datetime) -> int:
    """Deferred deliveries are due at once. Returns how many."""
    return Delivery.objects.filter(state=Delivery.State.DEFERRED, due_at__gt=now).update(due_at=now)
