"""A change between newsletters over the same feeds: who gets which post, so that none is lost or repeated.

The newsletter that comes rarer decides. A bound cuts its collections in two: those up to the bound belong to
the old subscription, the later ones to the new. A post belongs where its collection there belongs. The other
newsletter's issues follow their posts. An issue with posts of both goes to both: a post comes twice rather
than never.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from subscriptions.rules.periods import next_ends, period_for
from subscriptions.rules.schedule import Schedule

_PERIODS = 4
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How a newsletter comes. `n` belongs to every n."""

    schedule: Schedule
    zone: ZoneInfo
    n: int | None = None

    @property
    def is_numbered(self) -> bool:
        return self.schedule.arrangement == "every_n"


@dataclass(frozen=True, slots=True)
class Bound:
    """The rarer newsletter's last collection that is the old subscription's: by its end, or its number."""

    at: datetime | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where the rarer newsletter has a post: in the collection of that end, or of that number.

    Without either it is in no collection.
    """

    final_at: datetime
    end: datetime | None = None
    number: int | None = None


def is_rarer(one: Rhythm, other: Rhythm, now: datetime) -> bool:
    """Whether `one` comes less often. A calendar counts as rarer than posts: nobody knows when those come."""
    return rarity(one, now) > rarity(other, now)


def rarity(rhythm: Rhythm, now: datetime) -> tuple[int, float]:
    """A key to sort rhythms by: the one that comes most often is first."""
    if rhythm.schedule.has_periods:
        ends = next_ends(rhythm.schedule, rhythm.zone, now, _PERIODS + 1)
        return 2, (ends[-1] - ends[0]).total_seconds()
    return (1, rhythm.n or 1) if rhythm.is_numbered else (0, 0)


def bound_of(
    rarer: Rhythm, *, now: datetime, open_ends: Iterable[datetime], counter: int, held: int
) -> Bound:
    """Where a switch made now is cut: at the end of what the rarer newsletter is collecting.

    `open_ends` are the ends of its open collections, which an edit of the schedule does not change. `counter`
    is the number of every n's open collection, and `held` how many posts that has.
    """
    if rarer.is_numbered:
        return Bound(number=counter if held else counter - 1)
    if rarer.schedule.has_periods:
        return Bound(at=max((period_for(now, rarer.schedule, rarer.zone).end, *open_ends)))
    # To the minute, so that all switches of one minute are treated alike.
    return Bound(at=now.replace(second=0, microsecond=0) + MINUTE)


def is_nested(bound: Bound, other: Rhythm) -> bool:
    """Whether a collection of the other newsletter ends there, too: then no post comes twice."""
    if other.schedule.arrangement == "each":
        return True
    if bound.at is None or not other.schedule.has_periods:
        return False
    return period_for(bound.at, other.schedule, other.zone).start == bound.at


def is_olds(bound: Bound, place: Place, *, is_over: bool) -> bool:
    """Whether a post belongs to the old subscription. `is_over`: every n is past its bound."""
    if bound.at is not None:
        return place.end <= bound.at if place.end is not None else place.final_at < bound.at
    if place.number is not None and bound.number is not None:
        return place.number <= bound.number
    # The newsletter that counts posts left it out, so only one issue has it: whoever gets that now gets it.
    return not is_over


def goes_to_old(posts: Iterable[bool]) -> bool:
    """Whether an issue goes to the old subscription. `posts`: whether each is the old one's."""
    return any(posts)


def goes_to_new(posts: Iterable[bool]) -> bool:
    """Whether an issue goes to the new subscription. `posts`: whether each is the old one's."""
    return not all(posts)
