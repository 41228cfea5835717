"""Pausing a recipients' domain in a lane, and letting its letters go on."""

from datetime import datetime

from django.db import transaction

from common.text import one_line, shortened
from delivery.models import Delivery, Lane, LaneDomain

BATCH = 2000
LONGEST_REASON = 2000


@transaction.atomic
def pause_domain(*, lane_id: int, domain: str, reason: str, now: datetime) -> bool:
    """No letter goes there from that lane until it is resumed: the claim holds what is due.

    False when it was paused already, or where there is no domain; the first reason stays.
    """
    if not domain:
        return False
    facts = {"paused": True, "paused_reason": shortened(one_line(reason), LONGEST_REASON)}
    _, is_new = LaneDomain.objects.get_or_create(
        lane_id=lane_id, domain=domain, defaults={**facts, "refilled_at": now}
    )
    rows = LaneDomain.objects.filter(lane=lane_id, domain=domain, paused=False)
    return is_new or bool(rows.update(**facts))


def resume_domain(*, lane_id: int, domain: str, now: datetime) -> int:
    """Letters go there again, those that were held first. Returns how many were held. Safe to repeat.

    Queues in batches, each a transaction of its own.
    """
    _unpause(lane_id, domain)
    queued = 0
    while count := _queue_batch(lane_id, domain, now):
        queued += count
    return queued


@transaction.atomic
def _unpause(lane_id: int, domain: str) -> None:
    # The claim holds rows under this lock: those that it still found paused are committed before we go on.
    list(Lane.objects.select_for_update(no_key=True).filter(pk=lane_id).values_list("pk"))
    paused = LaneDomain.objects.filter(lane=lane_id, domain=domain, paused=True)
    paused.update(paused=False, paused_reason="")


@transaction.atomic
def _queue_batch(lane_id: int, domain: str, now: datetime) -> int:
    held = Delivery.objects.filter(
        state=Delivery.State.HELD, held_for=Delivery.HeldFor.DOMAIN, lane=lane_id, domain=domain
    )
    pks = list(held.order_by("pk").select_for_update().values_list("pk", flat=True)[:BATCH])
    # The days of waiting do not count against those after which a letter is given up.
    fresh = {"held_for": "", "last_error": "", "created_at": now, "due_at": now}
    return held.filter(pk__in=pks).update(state=Delivery.State.QUEUED, **fresh)
