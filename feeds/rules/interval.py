"""When a feed that was read is read next, and why then.

The admin's bounds come first: never more often than the interval, never less often than the ceiling.
Between them the feed's rhythm, its server's wishes and its hub decide. While posts are settling, and
for feeds that ping, only the interval counts: the pace serves finality.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

AT_MOST_EVERY = timedelta(minutes=1)
HOUR = timedelta(hours=1)
WARM_UP = timedelta(days=1)
# So often within the usual distance of two posts, an adaptive feed is read.
READINGS_PER_POST = 4
JITTER = 0.1


@dataclass(frozen=True, slots=True)
class Pacing:
    """An admin's settings: `interval` zero means a feed that pings."""

    interval: timedelta
    ceiling: timedelta
    adaptive: bool = False

    @property
    def floor(self) -> timedelta:
        return max(self.interval, AT_MOST_EVERY)

    @property
    def longest(self) -> timedelta:
        return max(self.floor, self.ceiling)


@dataclass(frozen=True, slots=True)
class Signs:
    """What speaks for another pace. `age` is since the adding; hours and days (Monday is 0) are UTC's."""

    settling: bool = False
    age: timedelta = WARM_UP
    rhythm: timedelta | None = None
    fresh_for: timedelta = timedelta(0)
    ttl: timedelta = timedelta(0)
    skip_hours: frozenset[int] = frozenset()
    skip_days: frozenset[int] = frozenset()
    hub_is_live: bool = False


@dataclass(frozen=True, slots=True)
class Next:
    """`why` is a word of `feeds.rules.why`."""

    at: datetime
    why: str


def next_poll(pacing: Pacing, signs: Signs, now: datetime, *, chance: float = 0.0) -> Next:
    """`chance` in [0, 1) spreads feeds of the same pace; it shortens by a tenth at the most."""
    if signs.settling:
        return Next(now + pacing.floor, "settling")
    if not pacing.interval:
        return Next(now + pacing.floor, "interval")
    length, why = _own_pace(pacing, signs)
    if signs.hub_is_live and pacing.longest > length:
        length, why = pacing.longest, "hub"
    if why != "interval":
        length = max(length * (1 - JITTER * chance), pacing.floor)
    for wish, name in ((signs.fresh_for, "cache"), (signs.ttl, "ttl")):
        if min(wish, pacing.longest) > length:
            length, why = min(wish, pacing.longest), name
    return _not_skipped(Next(now + length, why), signs, latest=now + pacing.longest)


def _own_pace(pacing: Pacing, signs: Signs) -> tuple[timedelta, str]:
    if not pacing.adaptive:
        return pacing.floor, "interval"
    if signs.age < WARM_UP:
        return pacing.floor, "warm_up"
    rhythm = signs.rhythm / READINGS_PER_POST if signs.rhythm is not None else pacing.longest
    return min(max(rhythm, pacing.floor), pacing.longest), "rhythm"


def _not_skipped(planned: Next, signs: Signs, *, latest: datetime) -> Next:
    """RSS 2.0, skipHours and skipDays: aggregators should not read then. The ceiling holds all the same."""
    at = planned.at
    for _ in range(8 * 24):
        if at >= latest or not (at.hour in signs.skip_hours or at.weekday() in signs.skip_days):
            break
        at = at.replace(minute=0, second=0, microsecond=0) + HOUR
    return planned if at == planned.at else Next(min(at, latest), "skip")
