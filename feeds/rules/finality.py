"""When an item is final: seen long enough and stable long enough, or seen for too long."""

from dataclasses import dataclass
from datetime import datetime, timedelta

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Timing:
    """A feed's delays, in whole minutes."""

    min_delay: int
    await_stabilization: int
    max_delay: int

    @property
    def at_first_sight(self) -> bool:
        """A feed that pings: nothing is waited for."""
        return self.min_delay <= 0 and self.await_stabilization <= 0


def is_final(
    timing: Timing, *, first_seen: datetime, stable_since: datetime, moment: datetime, changed: bool
) -> bool:
    """Whole minutes, truncated, strictly more (feedletter 0.2.5).

    `moment` is the instant before the request that saw the item; a content that changed at this very
    poll is not stable, so only the longest delay counts for it.
    """
    seen = (moment - first_seen) // MINUTE
    stable = (moment - stable_since) // MINUTE
    settled = seen > timing.min_delay and stable > timing.await_stabilization
    return seen > timing.max_delay or (settled and not changed)
