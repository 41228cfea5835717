"""Which worker holds how many of a lane's connections. Each function is a transaction of its own."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from delivery.models import Lane, LaneShare
from delivery.rules.shares import share

# Who does not ask again within it has stopped; a worker asks every second or two.
HELD_FOR = timedelta(seconds=5)


@transaction.atomic
def take_share(lane_id: int, holder: UUID, now: datetime, *, still_open: int = 0) -> int:
    """How many connections of the lane the holder may have from now on; to be renewed well within a minute.

    `still_open` are those it has open at this moment. When its part has shrunk, they stay accounted for
    until it has closed them and asks again: in sum, no more are open than the lane's number.
    """
    lane = Lane.objects.select_for_update(no_key=True).get(pk=lane_id)
    LaneShare.objects.filter(lane=lane, until__lte=now).delete()
    others = LaneShare.objects.filter(lane=lane).exclude(holder=holder)
    mine = share(lane.concurrency, list(others.values_list("connections", flat=True)))
    held = {"connections": max(mine, still_open), "until": now + HELD_FOR}
    LaneShare.objects.update_or_create(lane=lane, holder=holder, defaults=held)
    return mine


@transaction.atomic
def leave_shares(holder: UUID) -> None:
    """Gives up all that the holder has, in every lane."""
    LaneShare.objects.filter(holder=holder).delete()
