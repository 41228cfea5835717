"""A change between newsletters over the same feeds.

A bound divides the collections of the rarer newsletter between the old and the new subscription. The other
newsletter's issues follow their posts. An issue with posts of both goes to both: a duplicate is better than a
loss.

Pauses end at the start of a day, in the newsletter's zone.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from common.refused import Refused
from subscriptions.rules.schedule import Schedule, first_instant, in_month, next_ends, period_for, wall

MONTH = "month"
LENGTHS = {"week": timedelta(weeks=1), "fortnight": timedelta(weeks=2), MONTH: timedelta()}
_PERIODS = 4
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Rhythm:
    schedule: Schedule
    zone: ZoneInfo
    n: int | None = None

    @property
    def is_numbered(self) -> bool:
        return self.schedule.arrangement == "every_n"


@dataclass(frozen=True, slots=True)
class Bound:
    """The old subscription's last collection of the rarer newsletter."""

    at: datetime | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """In the rarer newsletter."""

    final_at: datetime
    end: datetime | None = None
    number: int | None = None


def is_rarer(one: Rhythm, other: Rhythm, now: datetime) -> bool:
    """Calendars count as rarer than posts."""
    return rarity(one, now) > rarity(other, now)


def rarity(rhythm: Rhythm, now: datetime) -> tuple[int, float]:
    if rhythm.schedule.has_periods:
        ends = next_ends(rhythm.schedule, rhythm.zone, now, _PERIODS + 1)
        return 2, (ends[-1] - ends[0]).total_seconds()
    return (1, rhythm.n or 1) if rhythm.is_numbered else (0, 0)


def bound_of(
    rarer: Rhythm, *, now: datetime, open_ends: Iterable[datetime], counter: int, held: int
) -> Bound:
    """Return the end of the rarer newsletter's current collection.

    `counter` and `held` are number and size of the open every-n collection.
    """
    if rarer.is_numbered:
        return Bound(number=counter if held else counter - 1)
    if rarer.schedule.has_periods:
        return Bound(at=max((period_for(now, rarer.schedule, rarer.zone).end, *open_ends)))
    # All switches in one minute are equal.
    return Bound(at=now.replace(second=0, microsecond=0) + MINUTE)


def is_nested(bound: Bound, other: Rhythm) -> bool:
    """Return whether a collection of the other newsletter ends there: then no post is repeated."""
    if other.schedule.arrangement == "each":
        return True
    if bound.at is None or not other.schedule.has_periods:
        return False
    return period_for(bound.at, other.schedule, other.zone).start == bound.at


def is_olds(bound: Bound, place: Place, *, is_over: bool) -> bool:
    """Return whether the old subscription gets the post. `is_over`: every_n is past its bound."""
    if bound.at is not None:
        return place.end <= bound.at if place.end is not None else place.final_at < bound.at
    if place.number is not None and bound.number is not None:
        return place.number <= bound.number
    # Only one issue has the post.
    return not is_over


def goes_to_old(posts: Iterable[bool]) -> bool:
    """`posts`: whether each is the old subscription's."""
    return any(posts)


def goes_to_new(posts: Iterable[bool]) -> bool:
    """`posts`: whether each is the old subscription's."""
    return not all(posts)


class BadDate(Refused):
    """Day on which no pause can end."""


def day_after(length: str, *, now: datetime, zone: ZoneInfo) -> date:
    """Raises BadDate for an unknown length."""
    today = wall(now, zone).date()
    if length not in LENGTHS:
        raise BadDate(length)
    return in_month(today, 1, today.day) if length == MONTH else today + LENGTHS[length]


def bounds(*, now: datetime, zone: ZoneInfo) -> tuple[date, date]:
    """Return tomorrow, and the day in a year."""
    today = wall(now, zone).date()
    return today + timedelta(days=1), in_month(today, 12, today.day)


def pause_end(day: date, *, now: datetime, zone: ZoneInfo) -> datetime:
    """Raises BadDate outside the bounds."""
    first, last = bounds(now=now, zone=zone)
    if not first <= day <= last:
        raise BadDate(day.isoformat())
    return first_instant(datetime.combine(day, time(0)), zone)
