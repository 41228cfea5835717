"""Limits of lanes, domains and, where messages cost, recipients, and counts per minute.

Runs in the claim's transaction, with the lane locked. Without limits it reads only the lane's few domains,
and writes nothing.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta

from django.db.models import Count, F, Q, Sum, prefetch_related_objects

from channels import CHANNELS, channel
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

# The lane's sum.
WHOLE_LANE = ""
USE_KEPT = timedelta(hours=25)
OVER = "This recipient has had the maximum number of messages today. The next day starts at 00:00 UTC."


def next_day(now: datetime) -> datetime:
    """Return when the next UTC day begins."""
    return _day(now) + timedelta(days=1)


def within_day(lane: Lane, pks: Sequence[int], now: datetime) -> list[int]:
    """Return deliveries within the limit; others become due tomorrow."""
    if lane.per_recipient is None:
        return list(pks)
    recipients = dict(Delivery.objects.filter(pk__in=pks).values_list("pk", "destination_id"))
    theirs = Delivery.objects.filter(lane=lane, destination_id__in=set(recipients.values())).order_by()
    sent = theirs.filter(sent_at__gte=_day(now)) | theirs.filter(state=Delivery.State.SENDING)
    used = Counter(dict(sent.values_list("destination_id").annotate(Count("pk"))))
    take: list[int] = []
    late: list[int] = []
    for pk in pks:
        recipient = recipients.get(pk)
        (take if used[recipient] < lane.per_recipient else late).append(pk)
        used[recipient] += 1
    if late:
        rows = Delivery.objects.waiting().filter(pk__in=late)
        rows.update(due_at=next_day(now), last_error=OVER)
    return take


def _day(now: datetime) -> datetime:
    return now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


def windows(lane: Lane, domains: Iterable[str], now: datetime) -> dict[str, Used]:
    """Return counts of hour and day by domain, with one query."""
    rows = LaneUse.objects.filter(lane=lane, domain__in=list(domains), minute__gt=counted_after(now, DAY))
    hour = Sum("count", filter=Q(minute__gt=counted_after(now, HOUR)), default=0)
    sums = rows.values_list("domain").annotate(hour=hour, day=Sum("count"))
    return {domain: Used(hour=hour, day=day) for domain, hour, day in sums}


def minutes(lane: Lane, domain: str, now: datetime) -> Uses:
    """Return counts per minute of the last 24 hours."""
    rows = LaneUse.objects.filter(lane=lane, domain=domain, minute__gt=counted_after(now, DAY))
    return list(rows.order_by("minute").values_list("minute", "count"))


def count(lane: Lane, taken: Mapping[str, int], now: datetime) -> None:
    """Add to this minute's counts, under the lane's lock. Prunes once a minute."""
    minute = minute_of(now)
    for domain, number in sorted(taken.items()):
        row = LaneUse.objects.filter(lane=lane, domain=domain, minute=minute)
        if not row.update(count=F("count") + number):
            LaneUse.objects.create(lane=lane, domain=domain, minute=minute, count=number)
            LaneUse.objects.filter(lane=lane, domain=domain, minute__lt=now - USE_KEPT).delete()


def uncount(lane_id: int, given_back: Mapping[str, int], claimed_at: datetime) -> None:
    """Subtract from the claim's minute; needs no lock."""
    for domain, number in sorted(given_back.items()):
        row = LaneUse.objects.filter(lane_id=lane_id, domain=domain, minute=minute_of(claimed_at))
        row.update(count=F("count") - number)


@dataclass(frozen=True, slots=True)
class ClaimRoom:
    """Number that may be claimed, else when to ask again."""

    count: int
    again_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Sifted:
    """Keys of a claim's rows: send, due later (domain over a limit), or held (domain paused)."""

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
    """Return what a worker may claim now.

    `in_flight`: messages it has claimed. `connections` (None: all) each send `expected` messages a second.
    """
    width = lane.width if connections is None else min(connections, lane.width)
    # Grows back step by step after failures.
    most = max(slowed(claimable(width, expected=expected), lane.failures) - in_flight, 0)
    if not most or lane.paused:
        return ClaimRoom(0)
    return _within_limits(lane, most, now)


def shared_room(room: ClaimRoom, account: Lane, now: datetime) -> ClaimRoom:
    """Return what the shared account allows."""
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
    """Sort rows (key and domain, in sending order) by their domains' limits.

    `urgent`: keys of mail that people wait for; if delayed, they are first again.
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
            # Includes this claim.
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
    """Delay urgent rows to the domain's next opening, others behind earlier ones."""
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
    """Take tokens for claimed messages, count them, and start the spacing.

    Applies to the shared account, whose row is locked, too.
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
    """Undo `use` for messages that were not begun; needs no lock."""
    total = sum(domains.values())
    if lane.parent is not None:
        give_back_use(lane.parent, {WHOLE_LANE: total}, claimed_at)
    limited = {name: row for name, row in _domains(lane).items() if domains.get(name)}
    # The next claim limits the bucket to its burst.
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
    """Return domains with rows, read once per lane object."""
    if not has_recipient_domains(lane.kind):
        return {}
    prefetch_related_objects([lane], "domains")
    return {row.domain: row for row in lane.domains.all()}


def _used(lane: Lane, rows: Collection[LaneDomain], now: datetime) -> dict[str, Used]:
    counting = [row.domain for row in rows if row.limits.counts]
    sums = windows(lane, counting, now) if counting else {}
    # By all workers.
    bounded = [row.domain for row in rows if row.concurrency is not None]
    under_way = Delivery.objects.filter(lane=lane, state=Delivery.State.SENDING, domain__in=bounded)
    sending = Counter(under_way.values_list("domain", flat=True)) if bounded else Counter[str]()
    return {
        row.domain: Used(sums[row.domain].hour, sums[row.domain].day, sending[row.domain])
        if row.domain in sums
        else Used(sending=sending[row.domain])
        for row in rows
    }


def has_recipient_domains(kind: str) -> bool:
    return kind in CHANNELS and bool(channel(kind).domain("a@example.org"))
