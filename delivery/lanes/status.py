"""A lane's status: use of limits, holders of connections, domains."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db.models import Count

from common.text import pluralize
from delivery.lanes.lanes import why_resting
from delivery.lanes.limits import WHOLE_LANE, windows
from delivery.models import Delivery, Lane, LaneDomain, LaneShare, LaneUse
from delivery.models.delivery import Unsent
from delivery.rules.limits import DAY, Used, daily_limit, ramp


@dataclass(frozen=True, slots=True)
class LaneStatus:
    """Use and limits. `today`: allowed in 24 hours now, by warm-up or limit."""

    used: Used
    per_hour: int | None
    today: int | None
    warms_up: bool

    @property
    def counts(self) -> bool:
        return self.per_hour is not None or self.today is not None


def unsent_by_lane() -> dict[int, Unsent]:
    every = Delivery.objects.order_by()
    waiting, held = Counter[int](), Counter[int]()
    # Each has an index.
    for counts, rows in (
        (waiting, every.waiting()),
        (waiting, every.filter(state="sending")),
        (held, every.filter(state="held")),
    ):
        counts.update(dict(rows.values_list("lane").annotate(n=Count("pk"))))
    return {lane: Unsent(waiting[lane], held[lane]) for lane in {*waiting, *held}}


def lane_status(lane: Lane, now: datetime) -> LaneStatus:
    limits = lane.limits
    today = daily_limit(limits.per_day, limits.warm_up, now)
    used = windows(lane, [WHOLE_LANE], now).get(WHOLE_LANE, Used()) if limits.counts else Used()
    return LaneStatus(used, limits.per_hour, today, warms_up=bool(coming_days(lane, now, days=1)))


def day_is_full(lane: Lane, now: datetime) -> bool:
    """Return whether the limit for 24 hours is reached."""
    status = lane_status(lane, now)
    return status.today is not None and status.used.day >= status.today


def coming_days(row: Lane | LaneDomain, now: datetime, *, days: int) -> list[tuple[date, int]]:
    """Return the warm-up's limits for coming days, if active."""
    limits = row.limits
    if limits.warm_up is None:
        return []
    return ramp(limits.warm_up, limits.warm_up.day_of(now), limits.per_day, days=days)


def last_day(lane: Lane, now: datetime, *, parts: int) -> list[tuple[datetime, int]]:
    """Return start and messages of equal parts of the last 24 hours."""
    size = DAY / parts
    counts: Counter[int] = Counter()
    rows = LaneUse.objects.filter(lane=lane, domain=WHOLE_LANE, minute__gt=now - DAY)
    for minute, count in rows.values_list("minute", "count"):
        counts[min(max(int((minute - (now - DAY)) / size), 0), parts - 1)] += count
    return [(now - DAY + part * size, counts[part]) for part in range(parts)]


def holders(lane: Lane, now: datetime) -> Sequence[LaneShare]:
    return list(LaneShare.objects.filter(lane=lane, until__gt=now).order_by("-connections", "holder"))


@dataclass(frozen=True, slots=True)
class DomainStanding:
    """Domain with limits. `held`: deliveries that wait for a person because of it."""

    row: LaneDomain
    used: Used
    today: int | None
    held: int


def domain_standings(lane: Lane, now: datetime) -> list[DomainStanding]:
    rows = list(lane.domains.order_by("domain"))
    counting = [row.domain for row in rows if row.limits.counts]
    used = windows(lane, counting, now) if counting else {}
    held = Delivery.objects.filter(state=Delivery.State.HELD, held_for=Delivery.HeldFor.DOMAIN, lane=lane)
    held_of = Counter(held.filter(domain__in=[row.domain for row in rows]).values_list("domain", flat=True))
    standings = []
    for row in rows:
        limits = row.limits
        today = daily_limit(limits.per_day, limits.warm_up, now)
        standings.append(DomainStanding(row, used.get(row.domain, Used()), today, held_of[row.domain]))
    return standings


def lane_state(row: Lane | LaneDomain, now: datetime) -> str:
    """Return open, resting or paused."""
    if row.paused:
        return "paused"
    is_services = isinstance(row, Lane) and bool(why_resting(row.kind, now))
    return "resting" if is_services or (row.free_at is not None and row.free_at > now) else "open"


def in_words(row: Lane | LaneDomain, now: datetime) -> list[str]:
    """Return limits in words: “10 a second (20 at once)”, “500 an hour”."""
    said = []
    if isinstance(row, Lane) and row.width < row.concurrency:
        said.append(f"{pluralize(row.width, 'connection')} (the server takes no more)")
    if row.rate is not None:
        said.append(f"{row.rate:g} a second ({row.burst} at once)")
    if row.per_hour is not None:
        said.append(f"{row.per_hour:,} an hour")
    if row.per_day is not None:
        said.append(f"{row.per_day:,} in 24 hours")
    if isinstance(row, Lane) and row.per_recipient is not None:
        said.append(f"{row.per_recipient:,} to one recipient in a day")
    if days := coming_days(row, now, days=1):
        said.append(f"warming up, {days[0][1]:,} in 24 hours now")
    if isinstance(row, LaneDomain) and row.concurrency is not None:
        said.append(f"{row.concurrency} at a time")
    return said
