"""When a whole service is given a rest, since it refuses too many requests. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

# Refusals by the minute that they were with_refusals in.
Recent = Sequence[tuple[datetime, int]]


@dataclass(frozen=True, slots=True)
class Breaker:
    """After `refusals` requests that a service refused `within` a time, nothing goes there for the same time;
    then it is tried slowly for as long again.

    `service` is its key: the channels with the same share its rest. `name` is what people call it; `why` says
    what more refusals would bring. `statuses` are of answers that count.
    """

    service: str
    name: str
    refusals: int
    within: timedelta
    why: str
    statuses: frozenset[int] = frozenset({401, 403, 429})

    @property
    def pace(self) -> timedelta:
        """Between two messages while it is tried slowly: if all were refused, half as many as open it."""
        return 2 * self.within / self.refusals


def with_refusals(
    recent: Recent, number: int, now: datetime, *, within: timedelta
) -> list[tuple[datetime, int]]:
    """The refusals with so many more; those of minutes that are past the time are left out."""
    this = now.replace(second=0, microsecond=0)
    kept = dict(row for row in recent if row[0] > now - within)
    kept[this] = kept.get(this, 0) + number
    return sorted(kept.items())


def is_too_much(recent: Recent, breaker: Breaker) -> bool:
    return sum(number for _, number in recent) >= breaker.refusals
