"""How much a lane may send now: a token bucket, a spacing, and for serial lanes the order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# No claim is larger than what the lane may send in this time, so that leases are not held idly.
CLAIM_SECONDS = 30
# Without a rate: what one connection is expected to send in a second at the least.
EXPECTED_RATE = 1
# What is left of a token may be less than a clock can tell.
SHORTEST_WAIT = timedelta(milliseconds=1)
HEAD_WAITS = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class LaneState:
    """A lane as its row stands. `rate` in messages a second, None for no limit."""

    concurrency: int
    rate: float | None
    burst: int
    tokens: float
    refilled_at: datetime
    free_at: datetime | None
    paused: bool


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many may be claimed, and the bucket after refilling (before they are taken)."""

    count: int
    tokens: float
    # When another one may go, if none may now.
    again_at: datetime | None = None


def allowance(lane: LaneState, now: datetime, *, in_flight: int = 0) -> Allowance:
    """What the lane allows at `now`, with `in_flight` of its messages claimed by this worker already."""
    room = lane.concurrency * EXPECTED_RATE * CLAIM_SECONDS - in_flight
    if lane.paused or room <= 0 or (lane.rate is not None and lane.rate <= 0):
        return Allowance(0, lane.tokens)
    if lane.free_at is not None and lane.free_at > now:
        return Allowance(0, lane.tokens, again_at=lane.free_at)
    if lane.rate is None:
        return Allowance(room, lane.tokens)
    tokens = refilled(lane, now)
    if tokens < 1:
        wait = timedelta(seconds=(1 - tokens) / lane.rate)
        return Allowance(0, tokens, again_at=now + max(wait, SHORTEST_WAIT))
    return Allowance(min(room, int(tokens)), tokens)


def refilled(lane: LaneState, now: datetime) -> float:
    """The bucket's tokens at `now`: never more than the burst."""
    elapsed = max((now - lane.refilled_at).total_seconds(), 0)
    return min(float(max(lane.burst, 1)), lane.tokens + elapsed * (lane.rate or 0))


@dataclass(frozen=True, slots=True)
class Queued:
    """A message that a serial lane has not finished with."""

    pk: int
    state: str
    due_at: datetime
    created_at: datetime


def serial_next(queue: Sequence[Queued], now: datetime) -> int | None:
    """The message that a serial lane may send now: its head, once it is due.

    A head that is put off holds the others back for an hour at most, and then lets those go first that are
    due; held ones never hold others (they are not in the queue). While one is being sent, none goes.
    """
    if any(message.state == "sending" for message in queue):
        return None
    head = next((message for message in queue if not _is_passed(message, now)), None)
    if head is not None:
        return head.pk if head.due_at <= now else None
    return next((message.pk for message in queue if message.due_at <= now), None)


def _is_passed(message: Queued, now: datetime) -> bool:
    waits = message.state == "deferred" or message.due_at > now
    return waits and now - message.created_at >= HEAD_WAITS
