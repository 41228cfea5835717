"""Limits of an account or domain: sliding windows over counts per minute, warm-ups, rates."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from math import log

# A claim covers at most this time: longer ones would be renewed, a row for each message.
CLAIM_SECONDS = 6
# Least messages per second expected of a connection.
EXPECTED_RATE = 1
HEAD_WAITS = timedelta(hours=1)
# A server that shuts down refuses some connections this long before the others end.
GOING_AWAY = timedelta(seconds=10)
# More connections are tried after this time without a refusal.
QUIET = timedelta(minutes=5)
# Messages that a connection has sent before a lane opens more.
PROOF = 20
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(hours=24)
# A warm-up ends here at the latest.
WARM = 1_000_000
# Start of a minute and messages claimed in it.
Uses = Sequence[tuple[datetime, int]]
# The rest of a token may be less than a clock shows.
SHORTEST_WAIT = timedelta(milliseconds=1)
# Concurrency limits: how soon to look again, and how many messages end per second.
BUSY_WAIT = timedelta(seconds=1)
ENDS_A_SECOND = 5.0
# Rate of rows that were delayed only by a rest.
UNHURRIED = 50.0
# So that lifted limits and warm-ups are noticed.
LONGEST_PUT_OFF = timedelta(hours=24)
# Delayed rows share due times.
GROUPS = 20


def minute_of(moment: datetime) -> datetime:
    return moment.replace(second=0, microsecond=0)


def counted_after(now: datetime, window: timedelta) -> datetime:
    """Return the start of the window. Minutes count whole, so no real window exceeds the limit."""
    return now - window - MINUTE


def used_within(uses: Uses, window: timedelta, now: datetime) -> int:
    since = counted_after(now, window)
    return sum(count for minute, count in uses if minute > since)


def room_at(uses: Uses, window: timedelta, limit: int, now: datetime) -> datetime:
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
    """`first` messages on day `start`, then `growth` times as many each day."""

    start: date
    first: int
    growth: float
    zone: tzinfo

    def day_of(self, moment: datetime) -> date:
        return moment.astimezone(self.zone).date()

    def begins(self, day: date) -> datetime:
        return datetime(day.year, day.month, day.day, tzinfo=self.zone)


def warm_up_allows(warm_up: WarmUp, day: date, per_day: int | None) -> int | None:
    """Return the day's limit, or None once it reaches `per_day` or a million.

    Before the start, the first day's limit applies.
    """
    end = WARM if per_day is None else min(per_day, WARM)
    days = max((day - warm_up.start).days, 0)
    growth = max(warm_up.growth, 1.0)
    if warm_up.first >= end or days * log(growth) >= log(end / warm_up.first):
        return None
    return int(warm_up.first * growth**days + 1e-6)


def ramp(warm_up: WarmUp, today: date, per_day: int | None, *, days: int) -> list[tuple[date, int]]:
    found = []
    for ahead in range(days):
        day = max(today, warm_up.start) + timedelta(days=ahead)
        allowed = warm_up_allows(warm_up, day, per_day)
        if allowed is None:
            break
        found.append((day, allowed))
    return found


def daily_limit(per_day: int | None, warm_up: WarmUp | None, now: datetime) -> int | None:
    """Return messages allowed in the last 24 hours."""
    if warm_up is None:
        return per_day
    warming = warm_up_allows(warm_up, warm_up.day_of(now), per_day)
    return per_day if warming is None else warming


def daily_room_at(uses: Uses, per_day: int | None, warm_up: WarmUp | None, now: datetime) -> datetime:
    """Return when another message fits, as the window slides or the warm-up widens it."""
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
    """Token bucket as of `refilled_at`; `rate` is per second."""

    rate: float | None
    burst: int
    tokens: float
    refilled_at: datetime

    def refilled(self, now: datetime) -> float:
        elapsed = max((now - self.refilled_at).total_seconds(), 0)
        return min(float(max(self.burst, 1)), self.tokens + elapsed * (self.rate or 0))

    def allows(self, now: datetime) -> int | None:
        return None if self.rate is None else max(int(self.refilled(now)), 0)

    def again_at(self, now: datetime) -> datetime | None:
        """Return when the next token is available, None if never or without a rate."""
        if self.rate is None or self.rate <= 0:
            return None
        wait = timedelta(seconds=(1 - self.refilled(now)) / self.rate)
        return now + max(wait, SHORTEST_WAIT)


@dataclass(frozen=True, slots=True)
class LaneLimits:
    """None: no limit. `concurrency` is a domain's."""

    bucket: Bucket
    per_hour: int | None = None
    per_day: int | None = None
    warm_up: WarmUp | None = None
    concurrency: int | None = None
    paused: bool = False
    free_at: datetime | None = None

    @property
    def counts(self) -> bool:
        """Whether uses must be counted by minute."""
        return self.per_hour is not None or self.per_day is not None or self.warm_up is not None


@dataclass(frozen=True, slots=True)
class Used:
    """Messages claimed in the last hour and 24 hours, and under way."""

    hour: int = 0
    day: int = 0
    sending: int = 0


def allowed(limits: LaneLimits, used: Used, now: datetime) -> int | None:
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
    """Return when the last blocking limit ends. None while paused or without a rate.

    `uses` cover the last 24 hours.
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
    """Return the long-term rate in messages per second."""
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
    """Yield sizes and due times of groups of rows."""
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


def claimable(connections: int, *, expected: float = EXPECTED_RATE) -> int:
    """Return how many messages can be sent while their leases are young.

    `expected`: messages per second and connection, as measured.
    """
    return int(connections * expected * CLAIM_SECONDS)


@dataclass(frozen=True, slots=True)
class Queued:
    pk: int
    state: str
    due_at: datetime
    created_at: datetime


def serial_next(queue: Sequence[Queued], now: datetime) -> int | None:
    """Return the message that a serial lane may send now: the first, once it is due.

    One that is not due holds back later ones until it is an hour old. Earlier failures change nothing, so
    after an outage the oldest is sent first. Held messages are not in the queue.
    """
    if any(message.state == "sending" for message in queue):
        return None
    for message in queue:
        if message.due_at <= now:
            return message.pk
        if now - message.created_at < HEAD_WAITS:
            return None
    return None


def share(concurrency: int, others: Collection[int]) -> int:
    """Return my connections: a fair part of what the `others` leave.

    The sum never exceeds `concurrency`. A new worker gets what is free, and its full part once the others
    have asked again.
    """
    fair = -(-concurrency // (len(others) + 1))
    return max(min(fair, concurrency - sum(others)), 0)


def wider(connections: int) -> int:
    return connections + max(connections // 4, 1)


def grown(connections: int, most: int) -> int | None:
    """Return the connections of a lane whose server answers well; None for all."""
    return connections * 2 if connections * 2 < most else None


def slowed(count: int, failures: int) -> int:
    """Halve the claim for each consecutive failure, down to one."""
    return max(count >> min(failures, 30), min(count, 1))


def after_success(failures: int, *, serial: bool, is_idle: bool) -> int:
    """Return one failure fewer, so that claims double; 0 for serial lanes, or if nothing waits."""
    return 0 if serial or is_idle else max(failures - 1, 0)
