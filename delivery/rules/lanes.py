from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# A claim covers at most this time: longer ones would be renewed, a row for each message.
CLAIM_SECONDS = 6
# Least messages per second expected of a connection.
EXPECTED_RATE = 1
HEAD_WAITS = timedelta(hours=1)
# A server that shuts down refuses some connections this long before the others end.
GOING_AWAY = timedelta(seconds=10)
# More connections are tried after this time without a refusal.
QUIET = timedelta(minutes=5)
# Messages that a connection has sent before a lane opens more.
PROOF = 20


def claimable(connections: int, *, expected: float = EXPECTED_RATE) -> int:
    """Return how many messages can be sent while their leases are young.

    `expected`: messages per second and connection, as measured.
    """
    return int(connections * expected * CLAIM_SECONDS)


@dataclass(frozen=True, slots=True)
class Queued:
    pk: int
    state: str
    due_at: datetime
    created_at: datetime


def serial_next(queue: Sequence[Queued], now: datetime) -> int | None:
    """Return the message that a serial lane may send now: the first, once it is due.

    One that is not due holds back later ones until it is an hour old. Earlier failures change nothing, so
    after an outage the oldest is sent first. Held messages are not in the queue.
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
    """Return my connections: a fair part of what the `others` leave.

    The sum never exceeds `concurrency`. A new worker gets what is free, and its full part once the others
    have asked again.
    """
    fair = -(-concurrency // (len(others) + 1))
    return max(min(fair, concurrency - sum(others)), 0)


def wider(connections: int) -> int:
    return connections + max(connections // 4, 1)


def grown(connections: int, most: int) -> int | None:
    """Return the connections of a lane whose server answers well; None for all."""
    return connections * 2 if connections * 2 < most else None


def slowed(count: int, failures: int) -> int:
    """Halve the claim for each consecutive failure, down to one."""
    return max(count >> min(failures, 30), min(count, 1))


def after_success(failures: int, *, serial: bool, is_idle: bool) -> int:
    """Return one failure fewer, so that claims double; 0 for serial lanes, or if nothing waits."""
    return 0 if serial or is_idle else max(failures - 1, 0)
