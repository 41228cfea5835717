"""How much one worker may claim from a lane now, and for serial lanes the order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from delivery.rules.limits import Bucket

# No claim is larger than what the lane may send in this time, so that leases are not held idly.
CLAIM_SECONDS = 30
# What one connection is expected to send in a second at the least.
EXPECTED_RATE = 1
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

    @property
    def bucket(self) -> Bucket:
        return Bucket(self.rate, self.burst, self.tokens, self.refilled_at)


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many may be claimed, and the bucket after refilling (before they are taken)."""

    count: int
    tokens: float
    # When another one may go, if none may now.
    again_at: datetime | None = None


def claimable(connections: int, *, in_flight: int = 0, expected: float = EXPECTED_RATE) -> int:
    """How many more messages so many connections can send while their leases are young.

    `expected`: messages a second and connection, as lately measured; `in_flight` of them are claimed.
    """
    return max(int(connections * expected * CLAIM_SECONDS) - in_flight, 0)


def allowance(lane: LaneState, now: datetime, *, in_flight: int = 0) -> Allowance:
    """What the lane allows at `now`, with `in_flight` of its messages claimed by this worker already."""
    room = claimable(lane.concurrency, in_flight=in_flight)
    if lane.paused or room <= 0 or (lane.rate is not None and lane.rate <= 0):
        return Allowance(0, lane.tokens)
    if lane.free_at is not None and lane.free_at > now:
        return Allowance(0, lane.tokens, again_at=lane.free_at)
    tokens = lane.bucket.allows(now)
    if tokens is None:
        return Allowance(room, lane.tokens)
    refilled = lane.bucket.refilled(now)
    if not tokens:
        return Allowance(0, refilled, again_at=lane.bucket.again_at(now))
    return Allowance(min(room, tokens), refilled)


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
