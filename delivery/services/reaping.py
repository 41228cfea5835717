"""Reaping: deliveries whose worker died go back to due, or are held, as the channel's crash policy says."""

from datetime import datetime

from django.db import transaction

from delivery.channels import channel
from delivery.models import Attempt, Delivery
from delivery.rules.outcomes import after_crash

BATCH = 500
LOST = "The worker that was sending this ended before it could say what became of it."


def reap(*, now: datetime) -> int:
    """Frees every delivery whose lease ran out. Returns how many."""
    total = 0
    while count := _reap_batch(now):
        total += count
    return total


@transaction.atomic
def _reap_batch(now: datetime) -> int:
    rows = Delivery.objects.expired(now).select_related("lane").order_by("lease_until", "pk")
    expired = list(rows.select_for_update(skip_locked=True, of=("self",))[:BATCH])
    for row in expired:
        after = after_crash(channel(row.lane.kind).crash_policy.value, now=now)
        # Guarded by the token: an outcome that was recorded meanwhile stands.
        Delivery.objects.filter(pk=row.pk, state="sending", lease_token=row.lease_token).update(
            state=after.state,
            due_at=after.due_at or row.due_at,
            lease_token=None,
            lease_until=None,
            last_error=LOST,
        )
    Attempt.objects.bulk_create([Attempt(delivery=row, at=now, outcome="lost", text=LOST) for row in expired])
    return len(expired)
