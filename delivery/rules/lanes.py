"""How much one worker may claim from a lane now: its share of the connections, less in a lane that was told
to slow down, and one at a time, in order, in a serial lane.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# No claim is larger than what the lane may send in this time, so that leases are not held idly.
CLAIM_SECONDS = 30
# What one connection is expected to send in a second at the least.
EXPECTED_RATE = 1
HEAD_WAITS = timedelta(hours=1)
# A server that goes away refuses some connections before the others are gone: within so long.
GOING_AWAY = timedelta(seconds=10)
# After so long without a refusal a few more are tried.
QUIET = timedelta(minutes=5)


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
    """Return the message that a serial lane may send now: the first one, once it is due.

    A message whose time has not come holds back the later ones until it is an hour old. An earlier failure
    changes nothing: after an outage the oldest message is sent first. Messages on hold are not in the queue,
    so they hold back nothing. While one message is being sent, no other is.
    """
    if any(message.state == "sending" for message in queue):
        return None
    for message in queue:
        if message.due_at <= now:
            return message.pk
        if now - message.created_at < HEAD_WAITS:
            return None
    return None


def share(concurrency: int, others: Collection[int]) -> int:
    """How many connections are mine, with what the `others` hold now: a fair part of what they leave.

    In sum there are never more than `concurrency`. A worker that is new gets what is free; the others shrink
    to their fair part when they ask next, and then the new one has its own.
    """
    fair = -(-concurrency // (len(others) + 1))
    return max(min(fair, concurrency - sum(others)), 0)


def wider(connections: int) -> int:
    """How many are tried next, of a server that took so many: one more, or a quarter."""
    return connections + max(connections // 4, 1)


def slowed(count: int, failures: int) -> int:
    """How many may be claimed at a time, of `count` in good days, after so many failures in a row.

    Half as many for each failure, but always one, with which the lane finds out how it stands.
    """
    return max(count >> min(failures, 30), min(count, 1))


def after_success(failures: int, *, serial: bool, is_idle: bool) -> int:
    """The failures that are left when what was claimed in this state has arrived.

    One fewer, so that each claim is twice the last. None where only one goes at a time, or where nothing
    waits any more.
    """
    return 0 if serial or is_idle else max(failures - 1, 0)
