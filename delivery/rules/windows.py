"""How many messages a sliding window still allows, from counts per minute; and how a warm-up widens it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from math import log

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(hours=24)
# A warm-up ends here at the latest.
WARM = 1_000_000

# A minute's beginning, and how many messages were claimed within it.
Uses = Sequence[tuple[datetime, int]]


def minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def counted_after(now: datetime, window: timedelta) -> datetime:
    """Minutes that begin after this count in the window that ends at `now`.

    A minute that is partly inside counts whole, so that no real window ever holds more than the limit.
    """
    return now - window - MINUTE


def used(uses: Uses, window: timedelta, now: datetime) -> int:
    since = counted_after(now, window)
    return sum(count for minute, count in uses if minute > since)


def room_at(uses: Uses, window: timedelta, limit: int, now: datetime) -> datetime:
    """When another message fits into the window, if none goes in the meantime. `limit` is 1 or more."""
    total, moment = used(uses, window, now), now
    since = counted_after(now, window)
    for minute, count in sorted(use for use in uses if use[0] > since):
        if total < limit:
            break
        total -= count
        moment = minute + MINUTE + window
    return moment


@dataclass(frozen=True, slots=True)
class WarmUp:
    """`first` messages on the day `start`, `growth` times as many each day after; days are `zone`'s."""

    start: date
    first: int
    growth: float
    zone: tzinfo

    def day_of(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()

    def begins(self, day: date) -> datetime:
        """The moment at which a day begins."""
        return datetime(day.year, day.month, day.day, tzinfo=self.zone)


def warm_up_allows(warm_up: WarmUp, day: date, per_day: int | None) -> int | None:
    """Messages in 24 hours on that day; None once the warm-up is over. Before its start: as on its start.

    It ends where `per_day`, or a million, is reached.
    """
    end = WARM if per_day is None else min(per_day, WARM)
    days = max((day - warm_up.start).days, 0)
    growth = max(warm_up.growth, 1.0)
    if warm_up.first >= end or days * log(growth) >= log(end / warm_up.first):
        return None
    return int(warm_up.first * growth**days + 1e-6)


def ramp(warm_up: WarmUp, today: date, per_day: int | None, *, days: int) -> list[tuple[date, int]]:
    """Today and the days after it with what each allows, as long as the warm-up goes on."""
    found = []
    for ahead in range(days):
        day = max(today, warm_up.start) + timedelta(days=ahead)
        allowed = warm_up_allows(warm_up, day, per_day)
        if allowed is None:
            break
        found.append((day, allowed))
    return found


def daily_limit(per_day: int | None, warm_up: WarmUp | None, now: datetime) -> int | None:
    """Messages in the 24 hours that end now; None for no limit."""
    if warm_up is None:
        return per_day
    warming = warm_up_allows(warm_up, warm_up.day_of(now), per_day)
    return per_day if warming is None else warming


def daily_room_at(uses: Uses, per_day: int | None, warm_up: WarmUp | None, now: datetime) -> datetime:
    """When another message fits into the 24 hours: as the window slides, or as the warm-up widens it."""
    moment = now
    while (limit := daily_limit(per_day, warm_up, moment)) is not None:
        found = room_at(uses, DAY, limit, moment)
        if warm_up is None:
            return found
        widens = warm_up.begins(warm_up.day_of(moment) + timedelta(days=1))
        if found < widens:
            return found
        moment = widens
    return moment
