"""Backoff of lanes: longer rests after each failure, then a stepwise recovery."""

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
    """Failure of a whole lane, in the server's words.

    `is_about_us`: the server works, but refuses us. `is_forbidden`: until a person restores a right.
    """

    lane_id: int
    text: str
    retry_at: datetime | None
    claimed_at: datetime
    at: datetime
    is_about_us: bool = False
    is_forbidden: bool = False


def well_lanes(lanes: Collection[int]) -> set[int]:
    """Return the lanes that have sent since they last had to stop."""
    # The first success after a rest clears `free_at` (see back_off).
    recovering = Q(free_at=None, failures__gt=0)
    rows = Lane.objects.filter(recovering | Q(failures=0), pk__in=lanes)
    return set(rows.values_list("pk", flat=True)) if lanes else set()


def lock_lanes(lanes: Collection[int]) -> None:
    """Lock them in key order."""
    rows = Lane.objects.select_for_update(no_key=True).filter(pk__in=lanes).order_by("pk")
    if lanes:
        list(rows.values_list("pk"))


def back_off(
    *, stops: Sequence[Stop], sent: Collection[Lane], now: datetime | None, also: Collection[int] = ()
) -> None:
    """Rest stopped lanes and recover `sent` ones, in the caller's transaction.

    `now` is the time of the last sending. Lanes of `also` are locked, too.
    """
    stopped: dict[int, list[Stop]] = defaultdict(list)
    for stop in stops:
        stopped[stop.lane_id].append(stop)
    # As claimed, which nearly always saves a query.
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
        # Claimed before the present rest: another connection has reported this.
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
    """Let a lane send again after its destination restored the missing right."""
    rested = Lane.objects.filter(pk=lane.pk, refused_since__isnull=False)
    rested.update(free_at=None, failures=0, last_error="", refused_since=None)


def _recover(claimed: Lane, now: datetime) -> None:
    """Recover one step, unless another worker did."""
    wanted = Q(state=Delivery.State.SENDING) | Q(state__in=WAITING, due_at__lte=now)
    is_idle = not Delivery.objects.filter(wanted, lane=claimed.pk).exists()
    left = after_success(claimed.failures, serial=claimed.serial, is_idle=is_idle)
    rows = Lane.objects.filter(pk=claimed.pk, failures=claimed.failures)
    if rows.update(failures=left, **({} if left else {"last_error": "", "refused_since": None})) and not left:
        log.info("a lane sends again", extra={"lane": claimed.name})
    # For serial lanes it is the pause after each message.
    Lane.objects.filter(pk=claimed.pk, serial=False, spacing_seconds=0, free_at__lte=now).update(free_at=None)
