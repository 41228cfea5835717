"""Limits of lanes, domains and, where messages cost, recipients: counts, changes, pauses.

Counts run in the claim's transaction, with the lane locked. Without limits only the lane's few
domains are read, and nothing is written.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, F, Q, Sum, prefetch_related_objects

from channels import CHANNELS, channel
from channels.email.address import parse_address
from common.ports.channels import InvalidDestination
from common.text import one_line, shortened
from delivery.models import Delivery, Lane, LaneDomain, LaneUse
from delivery.rules.limits import (
    DAY,
    EXPECTED_RATE,
    HOUR,
    LONGEST_PUT_OFF,
    Bucket,
    Used,
    Uses,
    again_at,
    allowed,
    claimable,
    counted_after,
    minute_of,
    pace,
    slowed,
    spread_due_times,
)

# The lane's sum.
WHOLE_LANE = ""
USE_KEPT = timedelta(hours=25)
OVER = "This recipient has had the maximum number of messages today. The next day starts at 00:00 UTC."
DOMAIN_BATCH = 2000
LONGEST_DOMAIN_REASON = 2000
RATE_LIMITS = frozenset(
    {"rate", "burst", "per_hour", "per_day", "warm_up_from", "warm_up_first", "warm_up_growth"}
)
OF_LANES = RATE_LIMITS | {"concurrency", "messages_per_connection", "spacing_seconds", "per_recipient"}
# Forgets what was learnt about the server's connections.
NOTHING_LEARNT = {"grown": None, "server_takes": None, "server_takes_since": None, "server_said": ""}
OF_DOMAINS = RATE_LIMITS | {"concurrency"}


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


def room(
    lane: Lane,
    now: datetime,
    *,
    in_flight: int = 0,
    connections: int | None = None,
    expected: float = EXPECTED_RATE,
) -> tuple[int, datetime | None]:
    """Return how many messages a worker may claim now, and if none, perhaps when to ask again.

    `in_flight`: messages it has claimed. `connections` (None: all) each send `expected` messages a second.
    """
    width = lane.width if connections is None else min(connections, lane.width)
    # Grows back step by step after failures.
    most = max(slowed(claimable(width, expected=expected), lane.failures) - in_flight, 0)
    if not most or lane.paused:
        return 0, None
    return within_limits(lane, most, now)


def within_limits(lane: Lane, most: int, now: datetime) -> tuple[int, datetime | None]:
    limits = lane.limits
    used = windows(lane, [WHOLE_LANE], now).get(WHOLE_LANE, Used()) if limits.counts else Used()
    open_now = allowed(limits, used, now)
    if open_now == 0:
        uses = minutes(lane, WHOLE_LANE, now) if limits.counts else ()
        return 0, again_at(limits, used, uses, now)
    return most if open_now is None else min(most, open_now), None


def sift(
    lane: Lane, rows: Sequence[tuple[int, str]], now: datetime, *, urgent: Collection[int] = ()
) -> tuple[list[int], list[tuple[list[int], datetime]], list[int]]:
    """Sort rows (key and domain, in sending order) by their domains' limits.

    Return the keys to send, to send later (domain over a limit), and to hold (domain paused).

    `urgent`: keys of mail that people wait for; if delayed, they are first again.
    """
    domains = _domains(lane)
    take: list[int] = []
    later: list[tuple[list[int], datetime]] = []
    hold: list[int] = []
    limited: dict[str, list[int]] = defaultdict(list)
    for pk, domain in rows:
        (limited[domain] if domain in domains else take).append(pk)
    states = _used(lane, [domains[name] for name in limited], now)
    for name, pks in limited.items():
        row, used, limits = domains[name], states[name], domains[name].limits
        if row.paused:
            hold.extend(pks)
            continue
        open_now = allowed(limits, used, now)
        number = len(pks) if open_now is None else open_now
        take.extend(pks[:number])
        if late := pks[number:]:
            # Includes this claim.
            bucket = Bucket(row.rate, row.burst, limits.bucket.refilled(now) - number, now)
            uses = [*minutes(lane, name, now), (minute_of(now), number)] if limits.counts else []
            after = replace(used, sending=used.sending + number)
            opens = again_at(replace(limits, bucket=bucket), after, uses, now)
            later.extend(_put_off(row, late, opens or now + LONGEST_PUT_OFF, now, urgent))
    place = {pk: number for number, (pk, _) in enumerate(rows)}
    take.sort(key=place.__getitem__)
    return take, later, hold


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
    # In the claim's minute.
    for name, number in sorted(counts.items()):
        uses = LaneUse.objects.filter(lane=lane, domain=name, minute=minute_of(claimed_at))
        uses.update(count=F("count") - number)


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


@transaction.atomic
def pause_domain(*, lane_id: int, domain: str, reason: str, now: datetime) -> bool:
    """Hold letters to a domain. Return False if already paused or empty; its first reason stays."""
    if not domain:
        return False
    facts = {"paused": True, "paused_reason": shortened(one_line(reason), LONGEST_DOMAIN_REASON)}
    _, is_new = LaneDomain.objects.get_or_create(
        lane_id=lane_id, domain=domain, defaults={**facts, "refilled_at": now}
    )
    rows = LaneDomain.objects.filter(lane=lane_id, domain=domain, paused=False)
    return is_new or bool(rows.update(**facts))


def resume_domain(*, lane_id: int, domain: str, now: datetime) -> int:
    """Resume a domain, held letters first. Return how many. Safe to repeat.

    Each batch is a transaction.
    """
    with transaction.atomic():
        # Rows that claims held under this lock are committed now.
        _lock(lane_id)
        rows = LaneDomain.objects.filter(lane=lane_id, domain=domain)
        rows.filter(paused=True).update(paused=False, paused_reason="")
        end_rest(lane_id, domain, now)
    held = Delivery.objects.filter(
        state=Delivery.State.HELD, held_for=Delivery.HeldFor.DOMAIN, lane=lane_id, domain=domain
    )
    # Days of waiting do not count towards giving up.
    fresh = {"held_for": "", "last_error": "", "created_at": now, "due_at": now}
    queued, count = 0, 1
    while count:
        with transaction.atomic():
            locked = held.order_by("pk").select_for_update().values_list("pk", flat=True)
            pks = list(locked[:DOMAIN_BATCH])
            count = held.filter(pk__in=pks).update(state=Delivery.State.QUEUED, **fresh)
        queued += count
    return queued


def end_rest(lane_id: int, domain: str, now: datetime) -> None:
    """Retry letters refused because of us now, in the caller's transaction."""
    rested = LaneDomain.objects.filter(lane=lane_id, domain=domain, refused_since__isnull=False)
    if rested.update(free_at=None, refused_since=None, failures=0, last_error="", put_off_until=None):
        put_off = Delivery.objects.filter(lane=lane_id, domain=domain, state=Delivery.State.QUEUED)
        put_off.filter(due_at__gt=now).update(due_at=now)


@transaction.atomic
def alter_lane(*, lane: Lane, **changes: Any) -> Lane:
    """Change only the given fields, as workers write others. Raises ValidationError."""
    _check(lane, changes, OF_LANES)
    # A person's number replaces what was learnt.
    learnt = NOTHING_LEARNT if "concurrency" in changes else {}
    Lane.objects.filter(pk=lane.pk).update(**changes, **learnt)
    if "per_recipient" in changes:
        # Reconsider what the old limit put off.
        late = Delivery.objects.waiting().filter(lane=lane, last_error=OVER)
        late.update(due_at=F("created_at"), last_error="")
    lane.refresh_from_db()
    return lane


def pause_lanes(*, lane_ids: Iterable[int], reason: str) -> int:
    """Return how many were not paused."""
    rows = Lane.objects.filter(pk__in=list(lane_ids), paused=False)
    return rows.update(paused=True, paused_reason=one_line(reason))


@transaction.atomic
def resume_lanes(*, lane_ids: Iterable[int], now: datetime) -> int:
    """Resume lanes and end rests. Return how many."""
    pks = sorted(lane_ids)
    for pk in pks:
        _lock(pk)
    rested = LaneDomain.objects.filter(lane__in=pks, refused_since__isnull=False)
    for lane_id, domain in list(rested.values_list("lane", "domain")):
        end_rest(lane_id, domain, now)
    rows = Lane.objects.filter(pk__in=pks)
    return rows.update(paused=False, paused_reason="", free_at=None, refused_since=None)


def alter_domain(*, lane: Lane, domain: str, now: datetime, **changes: Any) -> LaneDomain:
    """Set a recipient domain's limits. Raises ValidationError.

    Letters that old limits put off are reconsidered.
    """
    name = recipient_domain(domain)
    with transaction.atomic():
        _lock(lane.pk)
        found = LaneDomain.objects.filter(lane=lane, domain=name).first()
        row = found or LaneDomain(lane=lane, domain=name, refilled_at=now)
        row.put_off_until = None
        _check(row, changes, OF_DOMAINS)
        row.save(update_fields=[*changes, "put_off_until"] if found else None)
        come_back(lane_id=lane.pk, domain=name, now=now)
    return row


def drop_domain(*, lane_id: int, domain: str, now: datetime) -> int:
    """Delete a domain's limits. Return how many deliveries go on."""
    count = resume_domain(lane_id=lane_id, domain=domain, now=now)
    with transaction.atomic():
        _lock(lane_id)
        LaneDomain.objects.filter(lane=lane_id, domain=domain).delete()
        return count + come_back(lane_id=lane_id, domain=domain, now=now)


def come_back(*, lane_id: int, domain: str, now: datetime) -> int:
    """Make due what a limit put off. Return how many.

    (Limits put off queued deliveries; what a server put off is deferred, and stays so.)
    """
    queued = Delivery.objects.filter(lane=lane_id, domain=domain, state=Delivery.State.QUEUED)
    return queued.filter(due_at__gt=now).update(due_at=now)


def recipient_domain(text: str) -> str:
    """Return a domain as in addresses. Raises ValidationError."""
    try:
        return parse_address(f"reader@{text.strip().rpartition('@')[2]}").core.rpartition("@")[2]
    except InvalidDestination:
        raise ValidationError(
            {"domain": f"“{text[:80]}” isn’t a domain. Enter one like gmail.com."}
        ) from None


def _lock(lane_id: int) -> None:
    """Block claims, so that they see all of a change or nothing."""
    list(Lane.objects.select_for_update(no_key=True).filter(pk=lane_id).values_list("pk"))


def _check(row: Lane | LaneDomain, changes: Mapping[str, Any], known: Collection[str]) -> None:
    """Set changes on the row. Raises ValidationError with the field."""
    if strange := sorted(set(changes) - set(known)):
        raise ValidationError(f"There is no limit called {', '.join(strange)}.")
    for name, value in changes.items():
        setattr(row, name, value)
    row.clean_fields(exclude={each.name for each in row._meta.fields} - set(changes))
    if row.per_hour and row.per_day and row.per_hour > row.per_day:
        raise ValidationError({"per_hour": "This is more than the limit for 24 hours."})
