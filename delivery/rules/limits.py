"""What an account, or one domain's part of it, allows now, and when it allows more.

Windows slide over counts per minute; a warm-up widens them day by day.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from math import log

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(hours=24)
# A warm-up ends here at the latest.
WARM = 1_000_000

# A minute's beginning, and how many messages were claimed within it.
Uses = Sequence[tuple[datetime, int]]
# What is left of a token may be less than a clock can tell.
SHORTEST_WAIT = timedelta(milliseconds=1)
# Where only so many may be under way at a time: how soon to look again, and how many of them end in a second.
BUSY_WAIT = timedelta(seconds=1)
ENDS_A_SECOND = 5.0
# Rows that nothing slows but a rest come back at this rate.
UNHURRIED = 50.0
# No row is put off by more than this at once, so that a limit that is lifted or a warm-up is noticed.
LONGEST_PUT_OFF = timedelta(hours=24)
# Rows are put off in so many groups, each with one due time.
GROUPS = 20


def minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def counted_after(now: datetime, window: timedelta) -> datetime:
    """Minutes that begin after this count in the window that ends at `now`.

    A minute that is partly inside counts whole, so that no real window ever holds more than the limit.
    """
    return now - window - MINUTE


def used_within(uses: Uses, window: timedelta, now: datetime) -> int:
    since = counted_after(now, window)
    return sum(count for minute, count in uses if minute > since)


def room_at(uses: Uses, window: timedelta, limit: int, now: datetime) -> datetime:
    """When another message fits into the window, if none goes in the meantime. `limit` is 1 or more."""
    total, moment = used_within(uses, window, now), now
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


@dataclass(frozen=True, slots=True)
class Bucket:
    """Tokens as they stood at `refilled_at`; `rate` comes in a second (None: no limit), up to `burst`."""

    rate: float | None
    burst: int
    tokens: float
    refilled_at: datetime

    def refilled(self, now: datetime) -> float:
        """The tokens at `now`: never more than the burst, which is at least one."""
        elapsed = max((now - self.refilled_at).total_seconds(), 0)
        return min(float(max(self.burst, 1)), self.tokens + elapsed * (self.rate or 0))

    def allows(self, now: datetime) -> int | None:
        """Whole tokens; None without a rate."""
        return None if self.rate is None else max(int(self.refilled(now)), 0)

    def again_at(self, now: datetime) -> datetime | None:
        """When the next token is there; None if never, or if there is no rate."""
        if self.rate is None or self.rate <= 0:
            return None
        wait = timedelta(seconds=(1 - self.refilled(now)) / self.rate)
        return now + max(wait, SHORTEST_WAIT)


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """The limits of a lane or of a domain in it. None: no limit. `concurrency` is a domain's."""

    bucket: Bucket
    per_hour: int | None = None
    per_day: int | None = None
    warm_up: WarmUp | None = None
    concurrency: int | None = None
    paused: bool = False
    free_at: datetime | None = None

    @property
    def counts(self) -> bool:
        """Whether use has to be counted by the minute."""
        return self.per_hour is not None or self.per_day is not None or self.warm_up is not None


@dataclass(frozen=True, slots=True)
class Used:
    """Messages claimed in the last hour and 24 hours, and those under way."""

    hour: int = 0
    day: int = 0
    sending: int = 0


def allowed(limits: LaneLimits, used: Used, now: datetime) -> int | None:
    """How many may go now, by the narrowest of the limits; None where there is none."""
    is_resting = limits.free_at is not None and limits.free_at > now
    if limits.paused or is_resting:
        return 0
    rooms = (
        limits.bucket.allows(now),
        _less(limits.per_hour, used.hour),
        _less(daily_limit(limits.per_day, limits.warm_up, now), used.day),
        _less(limits.concurrency, used.sending),
    )
    return min((room for room in rooms if room is not None), default=None)


def again_at(limits: LaneLimits, used: Used, uses: Uses, now: datetime) -> datetime | None:
    """When the next one may go, if none may now: when the last of the limits in its way allows it.

    None while it is paused, or where the rate is none. `uses` are those of the last 24 hours.
    """
    if limits.paused or (limits.bucket.rate is not None and limits.bucket.rate <= 0):
        return None
    moments = [now]
    if limits.free_at is not None:
        moments.append(limits.free_at)
    if limits.bucket.allows(now) == 0 and (token := limits.bucket.again_at(now)):
        moments.append(token)
    if limits.per_hour is not None:
        moments.append(room_at(uses, HOUR, limits.per_hour, now))
    moments.append(daily_room_at(uses, limits.per_day, limits.warm_up, now))
    if _less(limits.concurrency, used.sending) == 0:
        moments.append(now + BUSY_WAIT)
    return max(moments)


def pace(limits: LaneLimits, now: datetime) -> float:
    """Messages a second that the limits let through in the long run."""
    daily = daily_limit(limits.per_day, limits.warm_up, now)
    paces = [UNHURRIED]
    if limits.bucket.rate is not None:
        paces.append(limits.bucket.rate)
    if limits.per_hour is not None:
        paces.append(limits.per_hour / 3600)
    if daily is not None:
        paces.append(daily / 86400)
    if limits.concurrency is not None:
        paces.append(limits.concurrency * ENDS_A_SECOND)
    return min(paces)


def spread_due_times(
    count: int, start: datetime, pace: float, latest: datetime
) -> Iterator[tuple[int, datetime]]:
    """Groups of `count` rows, in order, each with how many it has and when they are due again.

    The first is due at `start`, the others at the pace; none after `latest`.
    """
    size = max(-(-count // GROUPS), 1)
    for first in range(0, count, size):
        due = (
            min((latest - start).total_seconds(), first / pace)
            if pace > 0
            else LONGEST_PUT_OFF.total_seconds()
        )
        yield min(size, count - first), start + timedelta(seconds=max(due, 0))


def _less(limit: int | None, used: int) -> int | None:
    return None if limit is None else max(limit - used, 0)
