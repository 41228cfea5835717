"""A lane whose account cannot send at all rests for a while, longer each time."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from delivery.models import Lane
from delivery.rules.outcomes import lane_pause


@dataclass(frozen=True, slots=True)
class Stop:
    """A message's end that was the lane's: in the server's words, with the time it named if it did."""

    lane_id: int
    text: str
    retry_at: datetime | None
    claimed_at: datetime
    at: datetime


def rest_lanes(*, stops: Sequence[Stop], sent: Collection[Lane]) -> None:
    """Within the caller's transaction: lanes that stopped rest; those of `sent`, as claimed, are well."""
    stopped: dict[int, list[Stop]] = defaultdict(list)
    for stop in stops:
        stopped[stop.lane_id].append(stop)
    for lane_id in sorted(stopped):
        _rest(lane_id, stopped[lane_id])
    # (Asked first: nearly always there is nothing to forget.)
    for lane_id in sorted(lane.pk for lane in sent if lane.failures or lane.pk in stopped):
        Lane.objects.filter(pk=lane_id, failures__gt=0).update(failures=0, last_error="")


def _rest(lane_id: int, stops: Sequence[Stop]) -> None:
    lane = Lane.objects.select_for_update(no_key=True).get(pk=lane_id)
    for stop in stops:
        is_news = not _is_known(lane, stop)
        lane.failures += is_news
        if is_news or stop.retry_at is not None:
            rest = lane_pause(lane.failures, now=stop.at, retry_at=stop.retry_at)
            lane.free_at = max(rest, lane.free_at or rest)
        lane.last_error = stop.text
    lane.save(update_fields=["failures", "last_error", "free_at"])


def _is_known(lane: Lane, stop: Stop) -> bool:
    """Whether another connection has said so already: it was claimed before the rest that goes on now."""
    spaced_until = stop.claimed_at + timedelta(seconds=lane.spacing_seconds)
    return lane.failures > 0 and lane.free_at is not None and lane.free_at > spaced_until
