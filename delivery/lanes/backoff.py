"""A lane that was told to slow down rests for a while, longer each time, and comes back step by step."""

import logging
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q

from delivery.lanes.shares import forget_lesson
from delivery.models import Delivery, Lane
from delivery.models.delivery import WAITING
from delivery.rules.lanes import after_success
from delivery.rules.outcomes import forbidden_pause, lane_pause

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Stop:
    """A message's end that was the lane's: in the server's words, with the time it named if it did.

    `is_about_us`: the server is well, and refuses what we are or do. `is_forbidden`: until a person gives a
    right back.
    """

    lane_id: int
    text: str
    retry_at: datetime | None
    claimed_at: datetime
    at: datetime
    is_about_us: bool = False
    is_forbidden: bool = False


def well_lanes(lanes: Collection[int]) -> set[int]:
    """Those of the lanes that have sent something since they last had to stop."""
    # A rest is forgotten with the first success after it (see back_off).
    recovering = Q(free_at=None, failures__gt=0)
    rows = Lane.objects.filter(recovering | Q(failures=0), pk__in=lanes)
    return set(rows.values_list("pk", flat=True)) if lanes else set()


def lock_lanes(lanes: Collection[int]) -> None:
    """Until the caller's transaction ends, in order."""
    rows = Lane.objects.select_for_update(no_key=True).filter(pk__in=lanes).order_by("pk")
    if lanes:
        list(rows.values_list("pk"))


def back_off(
    *, stops: Sequence[Stop], sent: Collection[Lane], now: datetime | None, also: Collection[int] = ()
) -> None:
    """Within the caller's transaction: lanes that stopped rest; those of `sent`, as claimed, recover.

    `now` is when the last of these were sent. The lanes of `also` are locked with them.
    """
    stopped: dict[int, list[Stop]] = defaultdict(list)
    for stop in stops:
        stopped[stop.lane_id].append(stop)
    # As claimed: nearly always there is nothing to recover from, and nothing is asked.
    recovering = {lane.pk: lane for lane in sent if lane.failures and lane.pk not in stopped}
    lock_lanes({*stopped, *recovering, *also})
    for lane_id in sorted({*stopped, *recovering}):
        if lane_id in stopped:
            _rest(lane_id, stopped[lane_id])
        elif now is not None:
            _recover(recovering[lane_id], now)


def _rest(lane_id: int, stops: Sequence[Stop]) -> None:
    lane = Lane.objects.select_for_update(no_key=True).get(pk=lane_id)
    for stop in stops:
        # Another connection may have said so already: it was claimed before the rest that goes on now.
        spaced_until = stop.claimed_at + timedelta(seconds=lane.spacing_seconds)
        is_known = lane.failures > 0 and lane.free_at is not None and lane.free_at > spaced_until
        if not lane.failures:
            log.warning("a lane begins to rest: %s", stop.text, extra={"lane": lane.name})
        lane.failures += not is_known
        if stop.is_about_us:
            lane.refused_since = lane.refused_since or stop.at
        if not is_known or stop.retry_at is not None:
            rest = (
                forbidden_pause(lane.refused_since or stop.at, now=stop.at)
                if stop.is_forbidden
                else lane_pause(lane.failures, now=stop.at, retry_at=stop.retry_at)
            )
            lane.free_at = max(rest, lane.free_at or rest)
        lane.last_error = stop.text
    lane.save(update_fields=["failures", "last_error", "free_at", "refused_since"])
    forget_lesson(lane, lane.last_error, stops[-1].at)


def end_refusal(lane: Lane) -> None:
    """Let a lane send at once whose destination has given the missing right back."""
    rested = Lane.objects.filter(pk=lane.pk, refused_since__isnull=False)
    rested.update(free_at=None, failures=0, last_error="", refused_since=None)


def _recover(claimed: Lane, now: datetime) -> None:
    """One step, unless another worker took it: only what was claimed in this state tells of it."""
    wanted = Q(state=Delivery.State.SENDING) | Q(state__in=WAITING, due_at__lte=now)
    is_idle = not Delivery.objects.filter(wanted, lane=claimed.pk).exists()
    left = after_success(claimed.failures, serial=claimed.serial, is_idle=is_idle)
    rows = Lane.objects.filter(pk=claimed.pk, failures=claimed.failures)
    if rows.update(failures=left, **({} if left else {"last_error": "", "refused_since": None})) and not left:
        log.info("a lane sends again", extra={"lane": claimed.name})
    # Of a serial lane it is the pause after each message.
    Lane.objects.filter(pk=claimed.pk, serial=False, spacing_seconds=0, free_at__lte=now).update(free_at=None)
