"""Leases of deliveries: renewed while they are sent, given back when they were not begun, and reaped.

A delivery whose worker died is due again, or held, as its channel's crash policy says.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from common.counters import count
from common.db.leases import RELEASED
from common.db.outage import note_outage, was_away_lately
from delivery.channels import CHANNELS, channel
from delivery.engine.claim import LEASE
from delivery.engine.jobs import Job
from delivery.lanes import limits
from delivery.models import Attempt, Delivery, Lane
from delivery.rules.outcomes import after_crash

BATCH = 500
LOST = "The worker that was sending this ended before it could say what became of it."


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
            state=Delivery.State.QUEUED, **RELEASED, begun_at=begun_before
        )
    for (lane_id, claimed_at), group in _together(jobs).items():
        domains = Counter(job.row.domain for job in group)
        limits.give_back_use(Lane.objects.get(pk=lane_id), domains, claimed_at)


def _together(jobs: Sequence[Job]) -> dict[tuple[int, datetime], list[Job]]:
    """By lane and claim, in the order of the lanes."""
    groups: dict[tuple[int, datetime], list[Job]] = defaultdict(list)
    for job in sorted(jobs, key=lambda job: job.row.lane_id):
        groups[(job.row.lane_id, job.claimed_at)].append(job)
    return groups


log = logging.getLogger(__name__)


def reap(*, now: datetime) -> int:
    """Frees every delivery whose lease ran out. Returns how many.

    None for a minute after this process lost the database: others could not renew their leases either.
    """
    total = 0
    with note_outage():
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
    transaction.on_commit(lambda: _tell(expired))
    return len(expired)


def _tell(freed: Sequence[Delivery]) -> None:
    if freed:
        log.warning("%d deliveries of a worker that ended were taken back", len(freed))
    for kind, number in Counter(row.lane.kind for row in freed).items():
        count("leases_reaped", kind, number)
    count("attempts", "lost", len(freed))


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
