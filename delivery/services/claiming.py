"""Claiming: a lane's due deliveries, with a lease and the lane's tokens, in one transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.functions import Coalesce

from common.leases import lease
from delivery.channels import CHANNELS
from delivery.models import Delivery, Lane
from delivery.rules.lanes import HEAD_WAITS, Allowance, LaneState, Queued, allowance, serial_next
from delivery.rules.outcomes import Standing, cancel_reason
from subscriptions.models import Suppression

LEASE = timedelta(seconds=60)
# A lane that rests no longer than this is worth a look (a pass may wait for it).
SHORT_WAIT = timedelta(seconds=2)
SERIAL_QUEUE = 50
# Less than this goes before all letters: mails that somebody waits for.
ISSUE_PRIORITY = 5


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed delivery. `begun_before`: since when an earlier attempt's end is unknown."""

    row: Delivery
    token: UUID
    begun_before: datetime | None
    claimed_at: datetime

    @property
    def pk(self) -> int:
        return self.row.pk


@dataclass(frozen=True, slots=True)
class Claim:
    """Jobs that are ours until the lease ends; without any, when to ask `again_at`, if that helps."""

    jobs: tuple[Job, ...] = ()
    again_at: datetime | None = None


NOTHING = Claim()


def lanes_with_due(now: datetime) -> list[Lane]:
    """The lanes that have something to send and may, now or in a moment."""
    due = Delivery.objects.due(now).filter(lane=OuterRef("pk"))
    ready = Q(free_at=None) | Q(free_at__lte=now + SHORT_WAIT)
    lanes = Lane.objects.filter(ready, Exists(due), paused=False, kind__in=list(CHANNELS))
    return list(lanes.order_by("pk"))


def has_urgent(lane: Lane, now: datetime) -> bool:
    return Delivery.objects.due(now).filter(lane=lane, priority__lt=ISSUE_PRIORITY).exists()


@transaction.atomic
def claim(*, lane_id: int, now: datetime, in_flight: int, urgent: bool = False) -> Claim:
    """Claims what the lane allows; if `urgent`, only what goes before letters.

    NOTHING while another worker is claiming from it.
    """
    # NO KEY: publishing holds KEY SHARE on the lane, and would keep everybody from sending meanwhile.
    lanes = Lane.objects.select_for_update(skip_locked=True, no_key=True)
    lane = lanes.filter(pk=lane_id).first()
    if lane is None:
        return NOTHING
    allowed = allowance(state_of(lane), now, in_flight=in_flight)
    if not allowed.count:
        return Claim(again_at=allowed.again_at)
    pks = _serial(lane, now) if lane.serial else _wide(lane, allowed.count, now, urgent)
    if not pks:
        return NOTHING
    ours = lease(now, LEASE)
    Delivery.objects.due(now).filter(pk__in=pks).update(
        state=Delivery.State.SENDING,
        lease_token=ours.token,
        lease_until=ours.until,
        begun_at=Coalesce(F("begun_at"), now),
    )
    jobs = _still_wanted(ours.token, now)
    if not jobs:
        return Claim(again_at=now)
    _take_tokens(lane, allowed, len(jobs), now)
    return Claim(jobs)


def state_of(lane: Lane) -> LaneState:
    return LaneState(
        concurrency=lane.concurrency,
        rate=lane.rate,
        burst=lane.burst,
        tokens=lane.tokens,
        refilled_at=lane.refilled_at,
        free_at=lane.free_at,
        paused=lane.paused,
    )


def _wide(lane: Lane, count: int, now: datetime, urgent: bool) -> list[int]:
    rows = Delivery.objects.due(now).filter(lane=lane).order_by("priority", "due_at", "pk")
    if urgent:
        rows = rows.filter(priority__lt=ISSUE_PRIORITY)
    return [row.pk for row in rows.select_for_update(skip_locked=True).only("pk")[:count]]


def _serial(lane: Lane, now: datetime) -> list[int]:
    if Delivery.objects.filter(lane=lane, state=Delivery.State.SENDING).exists():
        return []
    # Old ones that are not due hold nobody back: they must not fill the window either.
    counts = Q(due_at__lte=now) | Q(created_at__gt=now - HEAD_WAITS)
    waiting = Delivery.objects.waiting().filter(counts, lane=lane).order_by("priority", "pk")
    rows = waiting.values_list("pk", "state", "due_at", "created_at")[:SERIAL_QUEUE]
    head = serial_next([Queued(*row) for row in rows], now)
    return [] if head is None else [head]


def _take_tokens(lane: Lane, allowed: Allowance, count: int, now: datetime) -> None:
    if lane.rate is not None:
        lane.tokens, lane.refilled_at = allowed.tokens - count, now
    if lane.spacing_seconds:
        lane.free_at = now + timedelta(seconds=lane.spacing_seconds)
    lane.save(update_fields=["tokens", "refilled_at", "free_at"])


def _still_wanted(token: UUID, now: datetime) -> tuple[Job, ...]:
    """Looks at each recipient again; cancels those that left or may not be written to any more."""
    rows = list(
        Delivery.objects.filter(lease_token=token)
        .select_related("destination", "subscription", "lane")
        .order_by("priority", "due_at", "pk")
    )
    suppressed = _suppressed(rows)
    wanted = []
    for row in rows:
        earlier = row.begun_at is not None and row.begun_at < now
        job = Job(row, token, row.begun_at if earlier else None, now)
        if reason := cancel_reason(_standing(row, suppressed)):
            _cancel(job, reason)
        else:
            wanted.append(job)
    return tuple(wanted)


def _standing(row: Delivery, suppressed: set[tuple[str, str]]) -> Standing:
    destination = row.destination
    return Standing(
        kind=row.kind,
        subscription_status=row.subscription.status if row.subscription else None,
        suppressed=(destination.kind, destination.core) in suppressed,
        disabled=(destination.disabled_reason or "it was disabled") if destination.disabled_at else "",
    )


def _suppressed(rows: Sequence[Delivery]) -> set[tuple[str, str]]:
    cores = {row.destination.core for row in rows}
    found = Suppression.objects.filter(core__in=cores)
    return set(found.values_list("kind", "core"))


def _cancel(job: Job, reason: str) -> None:
    Delivery.objects.filter(pk=job.pk, lease_token=job.token, state=Delivery.State.SENDING).update(
        state=Delivery.State.CANCELLED,
        lease_token=None,
        lease_until=None,
        begun_at=job.begun_before,
        last_error=reason,
    )
