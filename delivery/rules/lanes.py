"""How much one worker may claim from a lane now, and for serial lanes the order."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# No claim is larger than what the lane may send in this time, so that leases are not held idly.
CLAIM_SECONDS = 30
# What one connection is expected to send in a second at the least.
EXPECTED_RATE = 1
HEAD_WAITS = timedelta(hours=1)


def claimable(connections: int, *, in_flight: int = 0, expected: float = EXPECTED_RATE) -> int:
    """How many more messages so many connections can send while their leases are young.

    `expected`: messages a second and connection, as lately measured; `in_flight` of them are claimed.
    """
    return max(int(connections * expected * CLAIM_SECONDS) - in_flight, 0)


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
