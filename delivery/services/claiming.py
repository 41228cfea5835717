"""Claiming: a lane's due deliveries, with a lease and the lane's tokens, in one transaction."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Coalesce

from common.leases import lease
from delivery.models import Delivery, Lane
from delivery.rules.lanes import Allowance, LaneState, Queued, allowance, serial_next
from delivery.rules.outcomes import Standing, cancel_reason
from subscriptions.models import Suppression

LEASE = timedelta(seconds=60)
SERIAL_QUEUE = 50


@dataclass(frozen=True, slots=True)
class Job:
    """A claimed delivery. `begun_before`: since when an earlier attempt's end is unknown."""

    row: Delivery
    token: UUID
    begun_before: datetime | None

    @property
    def pk(self) -> int:
        return self.row.pk


@dataclass(frozen=True, slots=True)
class Claim:
    """Jobs that are ours until the lease ends; `again_at`: when the lane allows more, if it is full."""

    jobs: tuple[Job, ...] = ()
    again_at: datetime | None = None


NOTHING = Claim()


def lanes_with_due(now: datetime) -> list[Lane]:
    due = Delivery.objects.due(now).filter(lane=OuterRef("pk"))
    return list(Lane.objects.filter(Exists(due), paused=False).order_by("pk"))


@transaction.atomic
def claim(*, lane_id: int, now: datetime, in_flight: int) -> Claim:
    """Claims what the lane allows. NOTHING while another worker is claiming from it."""
    lane = Lane.objects.select_for_update(skip_locked=True).filter(pk=lane_id).first()
    if lane is None:
        return NOTHING
    allowed = allowance(state_of(lane), now, in_flight=in_flight)
    pks = _serial(lane, now) if lane.serial else _wide(lane, allowed.count, now)
    if not allowed.count or not pks:
        return Claim(again_at=allowed.again_at)
    ours = lease(now, LEASE)
    Delivery.objects.due(now).filter(pk__in=pks).update(
        state=Delivery.State.SENDING,
        lease_token=ours.token,
        lease_until=ours.until,
        begun_at=Coalesce(F("begun_at"), now),
    )
    _take_tokens(lane, allowed, len(pks), now)
    return Claim(tuple(_job(row, ours.token, now) for row in _still_wanted(ours.token)))


def _job(row: Delivery, token: UUID, now: datetime) -> Job:
    earlier = row.begun_at is not None and row.begun_at < now
    return Job(row, token, row.begun_at if earlier else None)


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


def _wide(lane: Lane, count: int, now: datetime) -> list[int]:
    rows = Delivery.objects.due(now).filter(lane=lane).order_by("priority", "due_at", "pk")
    return [row.pk for row in rows.select_for_update(skip_locked=True).only("pk")[:count]] if count else []


def _serial(lane: Lane, now: datetime) -> list[int]:
    unfinished = Delivery.objects.filter(lane=lane, state__in=("queued", "deferred", "sending"))
    rows = unfinished.order_by("priority", "pk").values_list("pk", "state", "due_at", "created_at")
    head = serial_next([Queued(*row) for row in rows[:SERIAL_QUEUE]], now)
    return [] if head is None else [head]


def _take_tokens(lane: Lane, allowed: Allowance, count: int, now: datetime) -> None:
    if lane.rate is not None:
        lane.tokens, lane.refilled_at = allowed.tokens - count, now
    if lane.spacing_seconds:
        lane.free_at = now + timedelta(seconds=lane.spacing_seconds)
    lane.save(update_fields=["tokens", "refilled_at", "free_at"])


def _still_wanted(token: UUID) -> list[Delivery]:
    """Looks at each recipient again; cancels those that left or may not be written to any more."""
    rows = list(
        Delivery.objects.filter(lease_token=token)
        .select_related("destination", "subscription", "lane")
        .order_by("priority", "due_at", "pk")
    )
    suppressed = _suppressed(rows)
    wanted = []
    for row in rows:
        reason = cancel_reason(_standing(row, suppressed))
        if reason:
            _cancel(row, token, reason)
        else:
            wanted.append(row)
    return wanted


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


def _cancel(row: Delivery, token: UUID, reason: str) -> None:
    Delivery.objects.filter(pk=row.pk, lease_token=token).update(
        state=Delivery.State.CANCELLED, lease_token=None, lease_until=None, last_error=reason
    )


@transaction.atomic
def renew(*, tokens: Iterable[UUID], now: datetime) -> set[int]:
    """Extends our leases. Returns the deliveries that are still ours."""
    ours = Delivery.objects.filter(lease_token__in=list(tokens), state=Delivery.State.SENDING)
    ours.update(lease_until=now + LEASE)
    return set(ours.values_list("pk", flat=True))


@transaction.atomic
def give_back(*, jobs: "Sequence[Job]") -> None:
    """Returns claimed deliveries that were not begun, as they were before the claim."""
    for job in jobs:
        Delivery.objects.filter(pk=job.pk, lease_token=job.token).update(
            state=Delivery.State.QUEUED, lease_token=None, lease_until=None, begun_at=job.begun_before
        )
