"""Keeping what was claimed, and giving back what was not begun."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction

from delivery.models import Delivery, Lane
from delivery.services import limiting
from delivery.services.claimed import Job
from delivery.services.claiming import LEASE


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
    for (lane_id, claimed_at), group in _together(jobs).items():
        domains = Counter(job.row.domain for job in group)
        limiting.give_back_use(Lane.objects.get(pk=lane_id), domains, claimed_at)


def _together(jobs: Sequence[Job]) -> dict[tuple[int, datetime], list[Job]]:
    """By lane and claim, in the order of the lanes."""
    groups: dict[tuple[int, datetime], list[Job]] = defaultdict(list)
    for job in sorted(jobs, key=lambda job: job.row.lane_id):
        groups[(job.row.lane_id, job.claimed_at)].append(job)
    return groups
