"""Reaping: deliveries whose worker died go back to due, or are held, as the channel's crash policy says."""

from datetime import datetime

from django.db import transaction
from django.db.models import F

from delivery.channels import CHANNELS, channel
from delivery.models import Attempt, Delivery
from delivery.rules.outcomes import after_crash
from delivery.services.database import noticing_loss, was_away_lately

BATCH = 500
LOST = "The worker that was sending this ended before it could say what became of it."


def reap(*, now: datetime) -> int:
    """Frees every delivery whose lease ran out. Returns how many.

    None for a minute after this process lost the database: others could not renew their leases either.
    """
    total = 0
    with noticing_loss():
        while not was_away_lately() and (count := _reap_batch(now)):
            total += count
    return total


@transaction.atomic
def _reap_batch(now: datetime) -> int:
    rows = Delivery.objects.expired(now).select_related("lane").order_by("lease_until", "pk")
    expired = list(rows.select_for_update(skip_locked=True, of=("self",))[:BATCH])
    for row in expired:
        _free(row, now)
    Attempt.objects.bulk_create([Attempt(delivery=row, at=now, outcome="lost", text=LOST) for row in expired])
    return len(expired)


def _free(row: Delivery, now: datetime) -> None:
    kind = row.lane.kind
    # Of a channel that is gone nobody knows what a second try would do.
    policy = channel(kind).crash_policy.value if kind in CHANNELS else "hold"
    after = after_crash(policy, attempts=row.attempts + 1, created_at=row.created_at, now=now)
    # Guarded by the token: an outcome that was recorded meanwhile stands.
    Delivery.objects.filter(pk=row.pk, state=Delivery.State.SENDING, lease_token=row.lease_token).update(
        state=after.state,
        due_at=after.due_at or row.due_at,
        attempts=F("attempts") + 1,
        lease_token=None,
        lease_until=None,
        last_error=LOST,
    )
