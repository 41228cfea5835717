"""In minutes."""

from collections.abc import Collection
from dataclasses import dataclass

LONGEST_INTERVAL = 24 * 60


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a feed's interval (`Feed.recheck_every_minutes`, `ceiling_minutes`).

    While a post settles, feeds are read at the shortest: a long choice must not lengthen that.
    """

    shortest: int
    longest: int


# Default of servers.
USUAL = Interval(10, 60)


def shared_interval(chosen: Collection[int | None]) -> Interval:
    """Combine all servers' longest times between two polls (None: the default)."""
    longest = min((minutes or USUAL.longest for minutes in chosen), default=USUAL.longest)
    return Interval(min(USUAL.shortest, longest), longest)
