"""Keeping what was claimed, and giving back what was not begun."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from delivery.models import Delivery, Lane
from delivery.services.claiming import LEASE, Job


@transaction.atomic
def renew(*, tokens: Iterable[UUID], now: datetime) -> set[tuple[int, UUID]]:
    """Extends our leases. Returns the deliveries that are still ours, each with its token."""
    ours = Delivery.objects.filter(lease_token__in=list(tokens), state=Delivery.State.SENDING)
    ours.update(lease_until=now + LEASE)
    return {(pk, token) for pk, token in ours.values_list("pk", "lease_token") if token}


@transaction.atomic
def give_back(*, jobs: Sequence[Job]) -> None:
    """Returns claimed deliveries that were not begun, as due as they were, and their lane's tokens."""
    alike: dict[tuple[UUID, datetime | None], list[int]] = defaultdict(list)
    for job in jobs:
        alike[(job.token, job.begun_before)].append(job.pk)
    for (token, begun_before), pks in alike.items():
        Delivery.objects.filter(pk__in=pks, lease_token=token, state=Delivery.State.SENDING).update(
            state=Delivery.State.QUEUED, lease_token=None, lease_until=None, begun_at=begun_before
        )
    # The next claim cuts the bucket to its burst.
    for lane_id, count in sorted(Counter(job.row.lane_id for job in jobs).items()):
        Lane.objects.filter(pk=lane_id, rate__gt=0).update(tokens=F("tokens") + count)
