"""Changes of lanes and their domains: limits, pause, resume."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F

from channels.email.address import parse_address
from common.ports.channels import InvalidDestination
from common.text import one_line, shortened
from delivery.lanes.limits import OVER
from delivery.models import Delivery, Lane, LaneDomain

DOMAIN_BATCH = 2000
LONGEST_DOMAIN_REASON = 2000
RATE_LIMITS = frozenset(
    {"rate", "burst", "per_hour", "per_day", "warm_up_from", "warm_up_first", "warm_up_growth"}
)
OF_LANES = RATE_LIMITS | {"concurrency", "messages_per_connection", "spacing_seconds", "per_recipient"}
# Forgets what was learnt about the server's connections.
NOTHING_LEARNT = {"server_takes": None, "server_takes_since": None, "server_said": ""}
OF_DOMAINS = RATE_LIMITS | {"concurrency"}


@transaction.atomic
def pause_domain(*, lane_id: int, domain: str, reason: str, now: datetime) -> bool:
    """Hold letters to a domain. Return False if already paused or empty; its first reason stays."""
    if not domain:
        return False
    facts = {"paused": True, "paused_reason": shortened(one_line(reason), LONGEST_DOMAIN_REASON)}
    _, is_new = LaneDomain.objects.get_or_create(
        lane_id=lane_id, domain=domain, defaults={**facts, "refilled_at": now}
    )
    rows = LaneDomain.objects.filter(lane=lane_id, domain=domain, paused=False)
    return is_new or bool(rows.update(**facts))


def resume_domain(*, lane_id: int, domain: str, now: datetime) -> int:
    """Resume a domain, held letters first. Return how many. Safe to repeat.

    Each batch is a transaction.
    """
    with transaction.atomic():
        # Rows that claims held under this lock are committed now.
        _lock(lane_id)
        rows = LaneDomain.objects.filter(lane=lane_id, domain=domain)
        rows.filter(paused=True).update(paused=False, paused_reason="")
        end_rest(lane_id, domain, now)
    held = Delivery.objects.filter(
        state=Delivery.State.HELD, held_for=Delivery.HeldFor.DOMAIN, lane=lane_id, domain=domain
    )
    # Days of waiting do not count towards giving up.
    fresh = {"held_for": "", "last_error": "", "created_at": now, "due_at": now}
    queued, count = 0, 1
    while count:
        with transaction.atomic():
            locked = held.order_by("pk").select_for_update().values_list("pk", flat=True)
            pks = list(locked[:DOMAIN_BATCH])
            count = held.filter(pk__in=pks).update(state=Delivery.State.QUEUED, **fresh)
        queued += count
    return queued


def end_rest(lane_id: int, domain: str, now: datetime) -> None:
    """Retry letters refused because of us now, in the caller's transaction."""
    rested = LaneDomain.objects.filter(lane=lane_id, domain=domain, refused_since__isnull=False)
    if rested.update(free_at=None, refused_since=None, failures=0, last_error="", put_off_until=None):
        put_off = Delivery.objects.filter(lane=lane_id, domain=domain, state=Delivery.State.QUEUED)
        put_off.filter(due_at__gt=now).update(due_at=now)


@transaction.atomic
def alter_lane(*, lane: Lane, **changes: Any) -> Lane:
    """Change only the given fields, as workers write others. Raises ValidationError."""
    _check(lane, changes, OF_LANES)
    # A person's number replaces what was learnt.
    learnt = NOTHING_LEARNT if "concurrency" in changes else {}
    Lane.objects.filter(pk=lane.pk).update(**changes, **learnt)
    if "per_recipient" in changes:
        # Reconsider what the old limit put off.
        late = Delivery.objects.waiting().filter(lane=lane, last_error=OVER)
        late.update(due_at=F("created_at"), last_error="")
    lane.refresh_from_db()
    return lane


def pause_lanes(*, lane_ids: Iterable[int], reason: str) -> int:
    """Return how many were not paused."""
    rows = Lane.objects.filter(pk__in=list(lane_ids), paused=False)
    return rows.update(paused=True, paused_reason=one_line(reason))


@transaction.atomic
def resume_lanes(*, lane_ids: Iterable[int], now: datetime) -> int:
    """Resume lanes and end rests. Return how many."""
    pks = sorted(lane_ids)
    for pk in pks:
        _lock(pk)
    rested = LaneDomain.objects.filter(lane__in=pks, refused_since__isnull=False)
    for lane_id, domain in list(rested.values_list("lane", "domain")):
        end_rest(lane_id, domain, now)
    rows = Lane.objects.filter(pk__in=pks)
    return rows.update(paused=False, paused_reason="", free_at=None, refused_since=None)


def alter_domain(*, lane: Lane, domain: str, now: datetime, **changes: Any) -> LaneDomain:
    """Set a recipient domain's limits. Raises ValidationError.

    Letters that old limits put off are reconsidered.
    """
    name = recipient_domain(domain)
    with transaction.atomic():
        _lock(lane.pk)
        found = LaneDomain.objects.filter(lane=lane, domain=name).first()
        row = found or LaneDomain(lane=lane, domain=name, refilled_at=now)
        row.put_off_until = None
        _check(row, changes, OF_DOMAINS)
        row.save(update_fields=[*changes, "put_off_until"] if found else None)
        come_back(lane_id=lane.pk, domain=name, now=now)
    return row


def drop_domain(*, lane_id: int, domain: str, now: datetime) -> int:
    """Delete a domain's limits. Return how many deliveries go on."""
    count = resume_domain(lane_id=lane_id, domain=domain, now=now)
    with transaction.atomic():
        _lock(lane_id)
        LaneDomain.objects.filter(lane=lane_id, domain=domain).delete()
        return count + come_back(lane_id=lane_id, domain=domain, now=now)


def come_back(*, lane_id: int, domain: str, now: datetime) -> int:
    """Make due what a limit put off. Return how many.

    (Limits put off queued deliveries; what a server put off is deferred, and stays so.)
    """
    queued = Delivery.objects.filter(lane=lane_id, domain=domain, state=Delivery.State.QUEUED)
    return queued.filter(due_at__gt=now).update(due_at=now)


def recipient_domain(text: str) -> str:
    """Return a domain as in addresses. Raises ValidationError."""
    try:
        return parse_address(f"reader@{text.strip().rpartition('@')[2]}").core.rpartition("@")[2]
    except InvalidDestination:
        raise ValidationError(
            {"domain": f"“{text[:80]}” isn’t a domain. Enter one like gmail.com."}
        ) from None


def _lock(lane_id: int) -> None:
    """Block claims, so that they see all of a change or nothing."""
    list(Lane.objects.select_for_update(no_key=True).filter(pk=lane_id).values_list("pk"))


def _check(row: Lane | LaneDomain, changes: Mapping[str, Any], known: Collection[str]) -> None:
    """Set changes on the row. Raises ValidationError with the field."""
    if strange := sorted(set(changes) - set(known)):
        raise ValidationError(f"There is no limit called {', '.join(strange)}.")
    for field, value in changes.items():
        setattr(row, field, value)
    row.clean_fields(exclude={field.name for field in row._meta.fields} - set(changes))
    if row.per_hour and row.per_day and row.per_hour > row.per_day:
        raise ValidationError({"per_hour": "This is more than the limit for 24 hours."})
