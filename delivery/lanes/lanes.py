"""Lanes: created at first use, their status, their backoff after failures, and circuit breakers.

A service that refuses too many requests rests, then is tried slowly. Processes share the rows, and only
refusals write them.
"""

import logging
import random
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import StrIndex, Substr

from channels import CHANNELS, channel
from channels.rules.accounts import DEFAULT_ACCOUNT
from channels.rules.breakers import Breaker, is_too_much, with_refusals
from common.admin.html import when
from common.text import pluralize
from delivery.lanes.limits import WHOLE_LANE, has_recipient_domains, windows
from delivery.lanes.shares import forget_lesson
from delivery.models import Delivery, Lane, LaneDomain, LaneShare, LaneUse, ServiceBreaker
from delivery.models.delivery import WAITING, Unsent
from delivery.rules.limits import DAY, Used, after_success, daily_limit, ramp
from delivery.rules.outcomes import forbidden_pause, lane_pause
from subscriptions.models import Destination, Subscription

# Stands for an account in SQL: a channel has one, or one per destination.
PROBE = "\0"
NO_OPTIONS: Mapping[str, str] = {}
log = logging.getLogger(__name__)

# A rest that begins sooner after the last is the same trouble.
SAME_TROUBLE = timedelta(hours=1)


def lane_for(*, kind: str, core: str, options: Mapping[str, str] = NO_OPTIONS) -> Lane:
    """Return the lane to a destination, created if missing. `options` are the newsletter's."""
    return _lane(kind, channel(kind).lane_account(core, options))


def mail_lane(account: str = DEFAULT_ACCOUNT) -> Lane:
    return _lane("email", account)


def _lane(kind: str, account: str) -> Lane:
    """Return the lane, and create it and its shared account's lane if missing."""
    known = Lane.objects.filter(kind=kind, account=account).first()
    if known is not None:
        return known
    Lane.objects.bulk_create([_new_lane(kind, account)], ignore_conflicts=True)
    return Lane.objects.get(kind=kind, account=account)


def _new_lane(kind: str, account: str) -> Lane:
    """Return an unsaved lane. Creates the shared account's lane if missing."""
    ours = channel(kind)
    shared, how, parent = ours.shared_account(account), ours.lane, None
    if shared and shared != account:
        parent = _lane(kind, shared)
    elif ours.account_lane is not None:
        how = ours.account_lane
    return Lane(kind=kind, account=account, parent=parent, tokens=how.burst, **asdict(how))


def lane_expression(
    *, kind: str, recipients: "QuerySet[Subscription]", options: Mapping[str, str]
) -> Combinable:
    """Return SQL for recipients' lane keys. Creates missing lanes."""
    account = channel(kind).lane_account(PROBE, options)
    if account != PROBE:
        return Value(_lane(kind, account).pk)
    lanes = Lane.objects.filter(kind=kind, account=OuterRef("destination__core"))
    missing = recipients.filter(~Exists(lanes)).order_by().values_list("destination__core", flat=True)
    # In one order, as others may create the same.
    Lane.objects.bulk_create([_new_lane(kind, core) for core in sorted(set(missing))], ignore_conflicts=True)
    return Subquery(lanes.values("pk")[:1])


def refusing_lane(destination: Destination) -> Lane | None:
    """Return the lane of a bridge's destination if it refuses us."""
    account = channel(destination.kind).lane_account(destination.core, NO_OPTIONS)
    return Lane.objects.filter(kind=destination.kind, account=account, refused_since__isnull=False).first()


def has_own_credentials(destination: Destination) -> bool:
    """Return whether a bridge's destination shares no account, such as a bot."""
    return not channel(destination.kind).shared_account(destination.core)


def is_of_destination(lane: Lane) -> bool:
    """Return whether the channel has a lane per destination, not per account."""
    return channel(lane.kind).lane_account(PROBE, NO_OPTIONS) == PROBE


def domain_expression(kind: str) -> Combinable:
    """Return SQL for the part after the @, or ""."""
    if not has_recipient_domains(kind):
        return Value("")
    core = F("destination__core")
    return Substr(core, StrIndex(core, Value("@")) + 1, 255)


def mail_to(
    destination: Destination,
    *,
    kind: str,
    key: str,
    template: str,
    context: Mapping[str, Any],
    now: datetime,
    options: Mapping[str, str] = NO_OPTIONS,
    **more: Any,
) -> Delivery:
    """Return an unsaved mail, due now and before all issues. Creates the lane if missing.

    `options`: of the newsletter, for its account; `more`: fields of the delivery.
    """
    core = destination.core
    return Delivery(
        kind=kind,
        key=key,
        destination=destination,
        template=template,
        context=context,
        lane=lane_for(kind=destination.kind, core=core, options=options),
        domain=channel(destination.kind).domain(core)[:255],
        priority=Delivery.Priority.FIRST,
        created_at=now,
        due_at=now,
        **more,
    )


def breaker_of(kind: str) -> Breaker | None:
    return channel(kind).breaker if kind in CHANNELS else None


def count_refusals(refusals: Mapping[str, int], *, said: str, now: datetime) -> None:
    """Add refusals by kind of channel, as the last lock of the caller's transaction.

    `said`: the service's last words.
    """
    by_service: dict[str, tuple[Breaker, int]] = {}
    for kind, number in refusals.items():
        if number and (breaker := breaker_of(kind)) is not None:
            _, before = by_service.get(breaker.service, (breaker, 0))
            by_service[breaker.service] = breaker, before + number
    for service, (breaker, number) in sorted(by_service.items()):
        ServiceBreaker.objects.get_or_create(service=service)
        row = ServiceBreaker.objects.select_for_update(no_key=True).get(service=service)
        earlier = [(datetime.fromisoformat(minute), count) for minute, count in row.recent]
        recent = with_refusals(earlier, number, now, within=breaker.within)
        if is_too_much(recent, breaker):
            _open(row, breaker, said, now)
            recent = []
        row.recent = [[minute.isoformat(), number] for minute, number in recent]
        row.save()


def _open(row: ServiceBreaker, breaker: Breaker, said: str, now: datetime) -> None:
    log.warning("%s rests: it refused %d requests", breaker.name, breaker.refusals)
    if row.since is None or row.slow_until is None or now - row.slow_until > SAME_TROUBLE:
        row.since = now
    row.rests_until = now + breaker.within
    row.slow_until, row.said = row.rests_until + breaker.within, said


def resting_kinds(now: datetime) -> list[str]:
    """Return kinds of channels that must not send now."""
    return _kinds(ServiceBreaker.objects.filter(rests_until__gt=now))


def _kinds(rows: "QuerySet[ServiceBreaker]") -> list[str]:
    services = set(rows.values_list("service", flat=True))
    if not services:
        return []
    found = ((kind, breaker_of(kind)) for kind in CHANNELS)
    return [kind for kind, breaker in found if breaker and breaker.service in services]


def in_turn(lanes: Iterable[Lane], now: datetime) -> list[Lane]:
    """Keep one random lane of each service that is tried slowly, and all others."""
    if not (lanes := list(lanes)):
        return []
    slow = set(_kinds(ServiceBreaker.objects.filter(slow_until__gt=now)))
    waiting = [lane for lane in lanes if lane.kind in slow]
    chosen = {breaker_of(lane.kind): lane for lane in random.sample(waiting, len(waiting))}
    return [lane for lane in lanes if lane.kind not in slow or lane in chosen.values()]


def take_turn(kind: str, now: datetime) -> datetime | None:
    """Return None if a message may be sent, else when to ask again.

    Runs in the claim's transaction. If the service is tried slowly, the turn is taken from all others.
    """
    breaker = breaker_of(kind)
    if breaker is None:
        return None
    row = ServiceBreaker.objects.filter(service=breaker.service, slow_until__gt=now).first()
    if row is None:
        return None
    if row.rests_until is not None and row.rests_until > now:
        return row.rests_until
    after = now + breaker.pace
    free = ServiceBreaker.objects.filter(pk=row.pk, rests_until=row.rests_until)
    return None if free.update(rests_until=after) else after


def troubled_services(now: datetime) -> list[tuple[Breaker, ServiceBreaker]]:
    rows = {row.service: row for row in ServiceBreaker.objects.filter(slow_until__gt=now)}
    found = {breaker.service: breaker for kind in CHANNELS if rows and (breaker := breaker_of(kind))}
    return [(found[service], row) for service, row in sorted(rows.items()) if service in found]


def trouble_in_words(breaker: Breaker, row: ServiceBreaker, now: datetime) -> str:
    minutes = int(breaker.within.total_seconds() // 60)
    refused = f"{breaker.name} refused {breaker.refusals:,} requests within {minutes} minutes. {breaker.why}"
    if row.slow_until is not None and now < (end := row.slow_until - breaker.within):
        return f"{refused} Sending is paused until {when(end)}, and then resumes slowly."
    return f"{refused} Sending has resumed slowly, until {when(row.slow_until)}."


def why_resting(kind: str, now: datetime) -> str:
    """Explain why this kind sends little or nothing, else ""."""
    breaker = breaker_of(kind)
    if breaker is None:
        return ""
    row = ServiceBreaker.objects.filter(service=breaker.service, slow_until__gt=now).first()
    return "" if row is None else trouble_in_words(breaker, row, now)


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
        why = "more if the server answers well" if row.server_takes is None else "the server takes no more"
        said.append(f"{pluralize(row.width, 'connection')} ({why})")
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


@dataclass(frozen=True, slots=True)
class Stop:
    """Failure of a whole lane, in the server's words.

    `is_about_us`: the server works, but refuses us. `is_forbidden`: until a person restores a right.
    `slows`: it asks for less.
    """

    lane_id: int
    text: str
    retry_at: datetime | None
    claimed_at: datetime
    at: datetime
    is_about_us: bool = False
    is_forbidden: bool = False
    slows: bool = False


def well_lanes(lanes: Collection[int]) -> set[int]:
    """Return the lanes that have sent since they last had to stop."""
    # The first success after a rest clears `free_at` (see back_off).
    recovering = Q(free_at=None, failures__gt=0)
    rows = Lane.objects.filter(recovering | Q(failures=0), pk__in=lanes)
    return set(rows.values_list("pk", flat=True)) if lanes else set()


def lock_lanes(lanes: Collection[int]) -> None:
    """Lock them in key order."""
    rows = Lane.objects.select_for_update(no_key=True).filter(pk__in=lanes).order_by("pk")
    if lanes:
        list(rows.values_list("pk"))


def back_off(
    *, stops: Sequence[Stop], sent: Collection[Lane], now: datetime | None, also: Collection[int] = ()
) -> None:
    """Rest stopped lanes and recover `sent` ones, in the caller's transaction.

    `now` is the time of the last sending. Lanes of `also` are locked, too.
    """
    stopped: dict[int, list[Stop]] = defaultdict(list)
    for stop in stops:
        stopped[stop.lane_id].append(stop)
    # As claimed, which nearly always saves a query.
    recovering = {lane.pk: lane for lane in sent if lane.failures and lane.pk not in stopped}
    lock_lanes({*stopped, *recovering, *also})
    for lane_id in sorted({*stopped, *recovering}):
        if lane_id in stopped:
            _rest(lane_id, stopped[lane_id])
        elif now is not None:
            _recover(recovering[lane_id], now)


def _rest(lane_id: int, stops: Sequence[Stop]) -> None:
    lane = Lane.objects.select_for_update(no_key=True).get(pk=lane_id)
    for stop in stops:
        # Claimed before the present rest: another connection has reported this.
        spaced_until = stop.claimed_at + timedelta(seconds=lane.spacing_seconds)
        is_known = lane.failures > 0 and lane.free_at is not None and lane.free_at > spaced_until
        if not lane.failures:
            log.warning("a lane begins to rest: %s", stop.text, extra={"lane": lane.name})
        lane.failures += not is_known
        if stop.slows and not is_known and channel(lane.kind).lane.grown is not None:
            lane.grown = max(lane.width // 2, 1)
        if stop.is_about_us:
            lane.refused_since = lane.refused_since or stop.at
        if not is_known or stop.retry_at is not None:
            rest = (
                forbidden_pause(lane.refused_since or stop.at, now=stop.at)
                if stop.is_forbidden
                else lane_pause(lane.failures, now=stop.at, retry_at=stop.retry_at)
            )
            lane.free_at = max(rest, lane.free_at or rest)
        lane.last_error = stop.text
    lane.save(update_fields=["failures", "last_error", "free_at", "refused_since", "grown"])
    forget_lesson(lane, lane.last_error, stops[-1].at)


def end_refusal(lane: Lane) -> None:
    """Let a lane send again after its destination restored the missing right."""
    rested = Lane.objects.filter(pk=lane.pk, refused_since__isnull=False)
    rested.update(free_at=None, failures=0, last_error="", refused_since=None)


def _recover(claimed: Lane, now: datetime) -> None:
    """Recover one step, unless another worker did."""
    wanted = Q(state=Delivery.State.SENDING) | Q(state__in=WAITING, due_at__lte=now)
    is_idle = not Delivery.objects.filter(wanted, lane=claimed.pk).exists()
    left = after_success(claimed.failures, serial=claimed.serial, is_idle=is_idle)
    rows = Lane.objects.filter(pk=claimed.pk, failures=claimed.failures)
    if rows.update(failures=left, **({} if left else {"last_error": "", "refused_since": None})) and not left:
        log.info("a lane sends again", extra={"lane": claimed.name})
    # For serial lanes it is the pause after each message.
    Lane.objects.filter(pk=claimed.pk, serial=False, spacing_seconds=0, free_at__lte=now).update(free_at=None)
