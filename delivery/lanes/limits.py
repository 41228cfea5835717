"""What the limits of a lane and its domains let a claim take, and the counts by the minute behind them.

All but the shares are parts of the claim's transaction, with the lane's row locked: they open none of their
own. Where no limit is set, they read the lane's few domains at most, and write nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from django.db.models import F, Q, Sum, prefetch_related_objects

from delivery.lanes.lanes import has_recipient_domains
from delivery.models import Delivery, Lane, LaneDomain, LaneUse
from delivery.rules.lanes import EXPECTED_RATE, claimable, slowed
from delivery.rules.limits import (
    DAY,
    HOUR,
    LONGEST_PUT_OFF,
    Bucket,
    Used,
    Uses,
    again_at,
    allowed,
    counted_after,
    minute_of,
    pace,
    spread_due_times,
)

# The lane's own sum stands under this name.
WHOLE_LANE = ""
USE_KEPT = timedelta(hours=25)


def windows(lane: Lane, domains: Iterable[str], now: datetime) -> dict[str, Used]:
    """The sums of hour and day for those domains (WHOLE: the lane), by one query."""
    rows = LaneUse.objects.filter(lane=lane, domain__in=list(domains), minute__gt=counted_after(now, DAY))
    hour = Sum("count", filter=Q(minute__gt=counted_after(now, HOUR)), default=0)
    sums = rows.values_list("domain").annotate(hour=hour, day=Sum("count"))
    return {domain: Used(hour=hour, day=day) for domain, hour, day in sums}


def minutes(lane: Lane, domain: str, now: datetime) -> Uses:
    """Each minute of the last 24 hours with its count."""
    rows = LaneUse.objects.filter(lane=lane, domain=domain, minute__gt=counted_after(now, DAY))
    return list(rows.order_by("minute").values_list("minute", "count"))


def count(lane: Lane, taken: Mapping[str, int], now: datetime) -> None:
    """Adds to this minute's counts; the caller holds the lane's lock. Prunes once a minute."""
    minute = minute_of(now)
    for domain, number in sorted(taken.items()):
        row = LaneUse.objects.filter(lane=lane, domain=domain, minute=minute)
        if not row.update(count=F("count") + number):
            LaneUse.objects.create(lane=lane, domain=domain, minute=minute, count=number)
            LaneUse.objects.filter(lane=lane, domain=domain, minute__lt=now - USE_KEPT).delete()


def uncount(lane_id: int, given_back: Mapping[str, int], claimed_at: datetime) -> None:
    """Takes from the counts of the minute of the claim; needs no lock."""
    for domain, number in sorted(given_back.items()):
        row = LaneUse.objects.filter(lane_id=lane_id, domain=domain, minute=minute_of(claimed_at))
        row.update(count=F("count") - number)


@dataclass(frozen=True, slots=True)
class ClaimRoom:
    """How many may be claimed; if none, when to ask again, where that helps."""

    count: int
    again_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sifted:
    """What becomes of the rows that a claim looked at, by their keys.

    `take` may be sent. Those of `later` are due again at that moment: their domain is over a limit. Those of
    `hold` wait for a person: their domain is paused.
    """

    take: list[int] = field(default_factory=list)
    later: list[tuple[list[int], datetime]] = field(default_factory=list)
    hold: list[int] = field(default_factory=list)


def room(
    lane: Lane,
    now: datetime,
    *,
    in_flight: int = 0,
    connections: int | None = None,
    expected: float = EXPECTED_RATE,
) -> ClaimRoom:
    """What the lane allows one worker now.

    `in_flight` of its messages are claimed by this worker; it may use that many `connections` (None: all),
    each of which sends `expected` messages a second.
    """
    width = lane.width if connections is None else min(connections, lane.width)
    # In good days so many; a lane that was told to slow down comes back step by step.
    most = max(slowed(claimable(width, expected=expected), lane.failures) - in_flight, 0)
    if not most or lane.paused:
        return ClaimRoom(0)
    return _within_limits(lane, most, now)


def shared_room(room: ClaimRoom, account: Lane, now: datetime) -> ClaimRoom:
    """What of a lane's room the account allows that it shares with other lanes."""
    return _within_limits(account, room.count, now)


def _within_limits(lane: Lane, most: int, now: datetime) -> ClaimRoom:
    limits = lane.limits
    used = windows(lane, [WHOLE_LANE], now).get(WHOLE_LANE, Used()) if limits.counts else Used()
    open_now = allowed(limits, used, now)
    if open_now == 0:
        uses = minutes(lane, WHOLE_LANE, now) if limits.counts else ()
        return ClaimRoom(0, again_at(limits, used, uses, now))
    return ClaimRoom(most if open_now is None else min(most, open_now))


def sift(
    lane: Lane, rows: Sequence[tuple[int, str]], now: datetime, *, urgent: Collection[int] = ()
) -> Sifted:
    """Parts the rows (key and domain, in the order of sending) by what their domains allow.

    The keys in `urgent` are of mails that somebody waits for: if they must wait, they come first again.
    """
    domains = _domains(lane)
    sifted = Sifted()
    if not domains:
        sifted.take.extend(pk for pk, _ in rows)
        return sifted
    limited: dict[str, list[int]] = defaultdict(list)
    for pk, domain in rows:
        (limited[domain] if domain in domains else sifted.take).append(pk)
    states = _used(lane, [domains[name] for name in limited], now)
    for name, pks in limited.items():
        row, used, limits = domains[name], states[name], domains[name].limits
        if row.paused:
            sifted.hold.extend(pks)
            continue
        open_now = allowed(limits, used, now)
        number = len(pks) if open_now is None else open_now
        sifted.take.extend(pks[:number])
        if late := pks[number:]:
            # What this very claim takes is used by then, too.
            bucket = Bucket(row.rate, row.burst, limits.bucket.refilled(now) - number, now)
            uses = [*minutes(lane, name, now), (minute_of(now), number)] if limits.counts else []
            after = Used(used.hour + number, used.day + number, used.sending + number)
            opens = again_at(replace(limits, bucket=bucket), after, uses, now)
            sifted.later.extend(_put_off(row, late, opens or now + LONGEST_PUT_OFF, now, urgent))
    place = {pk: number for number, (pk, _) in enumerate(rows)}
    sifted.take.sort(key=place.__getitem__)
    return sifted


def _put_off(
    row: LaneDomain, pks: list[int], start: datetime, now: datetime, urgent: Collection[int]
) -> Iterable[tuple[list[int], datetime]]:
    """Urgent ones at the domain's next opening, the others behind all that were put off before."""
    first = [pk for pk in pks if pk in urgent]
    others = [pk for pk in pks if pk not in urgent]
    if first:
        yield first, start
    latest = max(start, now + LONGEST_PUT_OFF)
    behind = min(max(start, row.put_off_until or start), latest)
    speed, until, done = pace(row.limits, now), behind, 0
    for number, due_at in spread_due_times(len(others), behind, speed, latest):
        yield others[done : done + number], due_at
        done, until = done + number, due_at + timedelta(seconds=number / speed)
    if others:
        row.put_off_until = until
        LaneDomain.objects.filter(pk=row.pk).update(put_off_until=until)


def use(lane: Lane, domains: Mapping[str, int], now: datetime) -> None:
    """Takes the tokens of what was claimed, so many of each domain, and counts it; begins the spacing.

    Also of the account that the lane shares with others: its row is locked, too.
    """
    total = sum(domains.values())
    if not total:
        return
    if lane.parent is not None:
        use(lane.parent, {WHOLE_LANE: total}, now)
    limited = {name: row for name, row in _domains(lane).items() if domains.get(name)}
    _take_tokens(lane, total, now)
    if lane.spacing_seconds:
        lane.free_at = now + timedelta(seconds=lane.spacing_seconds)
        lane.save(update_fields=["free_at"])
    for name, row in limited.items():
        _take_tokens(row, domains[name], now)
    counts = {name: domains[name] for name, row in limited.items() if row.limits.counts}
    if lane.limits.counts:
        counts[WHOLE_LANE] = total
    count(lane, counts, now)


def give_back_use(lane: Lane, domains: Mapping[str, int], claimed_at: datetime) -> None:
    """Undoes `use` for messages that were claimed at that moment and not begun; needs no lock."""
    total = sum(domains.values())
    if lane.parent is not None:
        give_back_use(lane.parent, {WHOLE_LANE: total}, claimed_at)
    limited = {name: row for name, row in _domains(lane).items() if domains.get(name)}
    # The next claim cuts the bucket to its burst.
    if lane.rate is not None:
        Lane.objects.filter(pk=lane.pk).update(tokens=F("tokens") + total)
    for name, row in limited.items():
        if row.rate is not None:
            LaneDomain.objects.filter(pk=row.pk).update(tokens=F("tokens") + domains[name])
    counts = {name: domains[name] for name, row in limited.items() if row.limits.counts}
    if lane.limits.counts:
        counts[WHOLE_LANE] = total
    uncount(lane.pk, counts, claimed_at)


def _take_tokens(row: Lane | LaneDomain, number: int, now: datetime) -> None:
    if row.rate is not None:
        row.tokens, row.refilled_at = row.limits.bucket.refilled(now) - number, now
        row.save(update_fields=["tokens", "refilled_at"])


def _domains(lane: Lane) -> dict[str, LaneDomain]:
    """The domains that have a row, read once for each lane object: the caller has just locked and read it."""
    if not has_recipient_domains(lane.kind):
        return {}
    prefetch_related_objects([lane], "domains")
    return {row.domain: row for row in lane.domains.all()}


def _used(lane: Lane, rows: Collection[LaneDomain], now: datetime) -> dict[str, Used]:
    counting = [row.domain for row in rows if row.limits.counts]
    sums = windows(lane, counting, now) if counting else {}
    # How many messages to those domains are under way, in all workers together.
    bounded = [row.domain for row in rows if row.concurrency is not None]
    under_way = Delivery.objects.filter(lane=lane, state=Delivery.State.SENDING, domain__in=bounded)
    sending = Counter(under_way.values_list("domain", flat=True)) if bounded else Counter[str]()
    return {
        row.domain: Used(sums[row.domain].hour, sums[row.domain].day, sending[row.domain])
        if row.domain in sums
        else Used(sending=sending[row.domain])
        for row in rows
    }
