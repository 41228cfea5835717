"""Changing the limits of lanes and of domains in them."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction

from common.kinds import InvalidDestination
from common.text import one_line
from delivery.channels.email.address import parse_address
from delivery.models import Delivery, Lane, LaneDomain
from delivery.services.domains import resume_domain

LIMITS = frozenset(
    {"rate", "burst", "per_hour", "per_day", "warm_up_from", "warm_up_first", "warm_up_growth"}
)
OF_LANES = LIMITS | {"concurrency", "messages_per_connection", "spacing_seconds"}
OF_DOMAINS = LIMITS | {"concurrency"}


def alter_lane(*, lane: Lane, **changes: Any) -> Lane:
    """Changes what is named of OF_LANES, and nothing that workers write meanwhile. Raises ValidationError."""
    _check(lane, changes, OF_LANES)
    Lane.objects.filter(pk=lane.pk).update(**changes)
    lane.refresh_from_db()
    return lane


def pause_lanes(*, lane_ids: Iterable[int], reason: str) -> int:
    """Nothing goes out there until they are resumed. Returns how many were not paused before."""
    rows = Lane.objects.filter(pk__in=list(lane_ids), paused=False)
    return rows.update(paused=True, paused_reason=one_line(reason))


def resume_lanes(*, lane_ids: Iterable[int]) -> int:
    """They send again, and what rests after failures is tried at once. Returns how many."""
    rows = Lane.objects.filter(pk__in=list(lane_ids))
    return rows.update(paused=False, paused_reason="", free_at=None)


def alter_domain(*, lane: Lane, domain: str, now: datetime, **changes: Any) -> LaneDomain:
    """Sets limits of OF_DOMAINS for a recipients' domain, the first ones or others.

    What the old ones had put off is looked at again. Raises ValidationError.
    """
    name = checked_domain(domain)
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
    """Forgets a domain's limits; what it held or put off goes on. Returns how many deliveries that are."""
    count = resume_domain(lane_id=lane_id, domain=domain, now=now)
    with transaction.atomic():
        _lock(lane_id)
        LaneDomain.objects.filter(lane=lane_id, domain=domain).delete()
        return count + come_back(lane_id=lane_id, domain=domain, now=now)


def come_back(*, lane_id: int, domain: str, now: datetime) -> int:
    """Within the caller's transaction: what a limit put off is due now. Returns how many.

    (Only limits put off what is queued; what a server put off is deferred, and stays so.)
    """
    queued = Delivery.objects.filter(lane=lane_id, domain=domain, state=Delivery.State.QUEUED)
    return queued.filter(due_at__gt=now).update(due_at=now)


def checked_domain(text: str) -> str:
    """The domain as it stands in addresses. Raises ValidationError."""
    try:
        return parse_address(f"reader@{text.strip().rpartition('@')[2]}").core.rpartition("@")[2]
    except InvalidDestination:
        raise ValidationError(
            {"domain": f"“{text[:80]}” is no domain: give one such as gmail.com."}
        ) from None


def _lock(lane_id: int) -> None:
    """Claims wait for this lane meanwhile, and see all of a change or nothing."""
    list(Lane.objects.select_for_update(no_key=True).filter(pk=lane_id).values_list("pk"))


def _check(row: Lane | LaneDomain, changes: Mapping[str, Any], known: Collection[str]) -> None:
    """Sets the changes on the row. Raises ValidationError, naming the field."""
    if strange := sorted(set(changes) - set(known)):
        raise ValidationError(f"There is no such limit: {', '.join(strange)}.")
    for field, value in changes.items():
        setattr(row, field, value)
    row.clean_fields(exclude={field.name for field in row._meta.fields} - set(changes))
    if row.per_hour and row.per_day and row.per_hour > row.per_day:
        raise ValidationError({"per_hour": "It is more than the most in 24 hours."})
