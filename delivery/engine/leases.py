"""Leases of deliveries: renew, return, reap.

A delivery whose worker died is due again or held, by its channel's crash policy.
"""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import F

from channels import CHANNELS, channel
from channels.base import CrashPolicy
from common.counters import count
from common.db.leases import RELEASED
from common.db.outage import note_outage, was_away_lately
from common.db.prepared import AnyRows
from delivery.engine.claim import DELIVERY_LEASE
from delivery.engine.send_task import ClaimedDelivery
from delivery.lanes import limits
from delivery.models import Attempt, Delivery, Lane
from delivery.rules.outcomes import after_crash, when_unsure
from subscriptions.models import Subscribable

log = logging.getLogger(__name__)

REAPED_A_BATCH = 500
LOST_WORDS = "The worker that was sending this ended before it could report the result."


@transaction.atomic
def renew(*, tokens: Iterable[UUID], now: datetime) -> set[tuple[int, UUID]]:
    """Return the deliveries that are still ours, with their tokens."""
    ours = Delivery.objects.filter(lease_token__in=list(tokens), state=Delivery.State.SENDING)
    ours.update(lease_until=now + DELIVERY_LEASE)
    return {(pk, token) for pk, token in ours.values_list("pk", "lease_token") if token}


@transaction.atomic
def give_back(*, rows: Sequence[ClaimedDelivery]) -> None:
    """Restore their old due times and their lane's tokens."""
    alike: dict[tuple[UUID, datetime | None], list[int]] = defaultdict(list)
    claims: dict[tuple[int, datetime], list[ClaimedDelivery]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.lane.pk):
        alike[(row.token, row.begun_before)].append(row.pk)
        claims[(row.lane.pk, row.claimed_at)].append(row)
    for (token, begun_before), pks in alike.items():
        Delivery.objects.filter(pk__in=pks, lease_token=token, state=Delivery.State.SENDING).update(
            state=Delivery.State.QUEUED, **RELEASED, begun_at=begun_before
        )
    for (lane_id, claimed_at), group in claims.items():
        domains = Counter(row.domain for row in group)
        limits.give_back_use(Lane.objects.select_related("parent").get(pk=lane_id), domains, claimed_at)


_EXPIRED = AnyRows(lambda now: (Delivery.objects.expired(now),))


def reap_expired(*, now: datetime) -> int:
    """Return how many were freed.

    Does nothing for a minute after this process lost the database: others could not renew either.
    """
    total = 0
    with note_outage():
        while not was_away_lately() and _EXPIRED.at(now):
            with transaction.atomic():
                rows = Delivery.objects.expired(now).select_related("lane").order_by("lease_until", "pk")
                freed = list(rows.select_for_update(skip_locked=True, of=("self",))[:REAPED_A_BATCH])
                for row in freed:
                    _free(row, now)
                lost = {"at": now, "outcome": "lost", "text": LOST_WORDS}
                Attempt.objects.bulk_create([Attempt(delivery=row, **lost) for row in freed])
            if not freed:
                break
            log.warning("%d deliveries of a worker that ended were taken back", len(freed))
            for kind, number in Counter(row.lane.kind for row in freed).items():
                count("leases_reaped", kind, number)
            count("attempts", "lost", len(freed))
            total += len(freed)
    return total


def _free(row: Delivery, now: datetime) -> None:
    kind = row.lane.kind
    # A removed channel's crash policy is unknown.
    policy = channel(kind).crash_policy.value if kind in CHANNELS else "hold"
    if row.kind in Delivery.CHANGES:
        policy = CrashPolicy.RESEND.value
    if policy == "hold" and row.issue_id is not None:
        options = Subscribable.objects.filter(issues=row.issue_id).values_list("options", flat=True).get()
        policy = when_unsure(policy, options.get("when_unsure", ""))
    after = after_crash(policy, attempts=row.attempts + 1, created_at=row.created_at, now=now)
    # The token keeps an outcome that was recorded meanwhile.
    ours = Delivery.objects.filter(pk=row.pk, state=Delivery.State.SENDING, lease_token=row.lease_token)
    ours.update(
        state=after.state,
        due_at=after.due_at or row.due_at,
        attempts=F("attempts") + 1,
        last_error=LOST_WORDS,
        **RELEASED,
    )
