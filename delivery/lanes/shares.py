"""Workers' shares of a lane's connections. Each function is a transaction."""

import logging
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction

from delivery.models import Lane, LaneShare
from delivery.rules.limits import GOING_AWAY, QUIET, grown, share, wider

log = logging.getLogger(__name__)
# Workers ask every second or two, unless they stopped.
HELD_FOR = timedelta(seconds=5)


@transaction.atomic
def take_share(
    lane_id: int, holder: UUID, now: datetime, *, still_open: int = 0, goes_well: bool = False
) -> int:
    """Return how many connections the holder may have. Renew well within a minute.

    If its share shrank, `still_open` connections count until it asks again, so that the lane's number is
    never exceeded. `goes_well`: all of its connections have proved themselves, so a lane that grows does.
    """
    lane = Lane.objects.select_for_update(no_key=True).get(pk=lane_id)
    # Some time after a refusal, try a few more.
    since = lane.server_takes_since
    if lane.server_takes is not None and (since is None or now - since >= QUIET):
        more = wider(lane.server_takes)
        lane.server_takes, lane.server_takes_since = (more, now) if more < lane.concurrency else (None, None)
        lane.save(update_fields=["server_takes", "server_takes_since"])
    if goes_well and lane.grown is not None and not lane.failures and lane.server_takes is None:
        lane.grown = grown(lane.grown, lane.concurrency)
        lane.save(update_fields=["grown"])
    LaneShare.objects.filter(lane=lane, until__lte=now).delete()
    others = LaneShare.objects.filter(lane=lane).exclude(holder=holder)
    mine = share(lane.width, list(others.values_list("connections", flat=True)))
    held = {"connections": max(mine, still_open), "until": now + HELD_FOR}
    LaneShare.objects.update_or_create(lane=lane, holder=holder, defaults=held)
    return mine


@transaction.atomic
def narrow_lane(lane_id: int, holder: UUID, *, connections: int, said: str, now: datetime) -> None:
    """Limit the lane after its server refused one more connection, until some time without refusals."""
    lane = Lane.objects.select_for_update(no_key=True).get(pk=lane_id)
    shares = LaneShare.objects.filter(lane=lane, until__gt=now)
    if lane.last_error == said and lane.free_at is not None and lane.free_at > now and shares.count() <= 1:
        # It rests already: the server went away, and accepted none.
        return
    shares.filter(holder=holder).update(connections=connections)
    total = sum(shares.values_list("connections", flat=True))
    if lane.server_takes is None:
        log.warning("a server takes %d connections at a time: %s", total, said, extra={"lane": lane.name})
    lane.server_takes, lane.server_takes_since = max(min(total, lane.width), 1), now
    lane.server_said = said
    lane.save(update_fields=["server_takes", "server_takes_since", "server_said"])


def forget_lesson(lane: Lane, said: str, now: datetime) -> None:
    """Undo a resting, locked lane's limit if its only worker just learnt it by the same words."""
    since = lane.server_takes_since
    if since is None or now - since > GOING_AWAY or lane.server_said != said:
        return
    if LaneShare.objects.filter(lane=lane, until__gt=now).count() <= 1:
        lane.server_takes, lane.server_takes_since, lane.server_said = None, None, ""
        lane.save(update_fields=["server_takes", "server_takes_since", "server_said"])


@transaction.atomic
def leave_shares(holder: UUID) -> None:
    LaneShare.objects.filter(holder=holder).delete()
