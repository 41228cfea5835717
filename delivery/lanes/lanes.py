"""Lanes, created at first use, mail sent through them, and circuit breakers.

A service that refuses too many requests rests, then is tried slowly. Processes share the rows, and only
refusals write them.
"""

import logging
import random
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import StrIndex, Substr

from channels import CHANNELS, channel
from channels.rules.accounts import DEFAULT_ACCOUNT
from channels.rules.breakers import Breaker, is_too_much, with_refusals
from common.admin.html import when
from delivery.models import Delivery, Lane, ServiceBreaker
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


def has_recipient_domains(kind: str) -> bool:
    return kind in CHANNELS and bool(channel(kind).domain("a@example.org"))


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


def troubles(now: datetime) -> list[tuple[Breaker, ServiceBreaker]]:
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
