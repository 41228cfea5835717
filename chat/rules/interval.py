"""How often a feed that servers share is read. Times are in minutes."""

from collections.abc import Collection
from dataclasses import dataclass

LONGEST_INTERVAL = 24 * 60


@dataclass(frozen=True, slots=True)
class Interval:
    """A feed is read at its own pace between the two (`Feed.recheck_every_minutes`, `ceiling_minutes`).

    While a post settles it is read at the shortest, so a long choice must not lengthen that.
    """

    shortest: int
    longest: int


# For servers that have chosen none.
USUAL = Interval(10, 60)


def shared_interval(chosen: Collection[int | None]) -> Interval:
    """Return the interval that suits every server, given what each has chosen; None is the usual pace.

    A choice says after how many minutes it is read at the latest.
    """
    longest = min((minutes or USUAL.longest for minutes in chosen), default=USUAL.longest)
    return Interval(min(USUAL.shortest, longest), longest)
