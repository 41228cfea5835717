"""Pauses a service that refuses too many requests."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# Refusals by minute.
Recent = Sequence[tuple[datetime, int]]


@dataclass(frozen=True, slots=True)
class Breaker:
    """Pause after `refusals` refused requests `within` a time, for that time, then send slowly.

    Channels with the same `service` share it. `name` is for people; `why` says what more refusals would
    cause. `statuses`: answers that count.
    """

    service: str
    name: str
    refusals: int
    within: timedelta
    why: str
    statuses: frozenset[int] = frozenset({401, 403, 429})

    @property
    def pace(self) -> timedelta:
        """Return the gap between messages while sending slowly: half the rate that opens it."""
        return 2 * self.within / self.refusals


def with_refusals(
    recent: Recent, number: int, now: datetime, *, within: timedelta
) -> list[tuple[datetime, int]]:
    this = now.replace(second=0, microsecond=0)
    kept = dict(row for row in recent if row[0] > now - within)
    kept[this] = kept.get(this, 0) + number
    return sorted(kept.items())


def is_too_much(recent: Recent, breaker: Breaker) -> bool:
    return sum(number for _, number in recent) >= breaker.refusals
