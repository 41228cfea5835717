"""Lanes, created at first use, and mail sent through them."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.db.models import Exists, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import StrIndex, Substr

from channels import CHANNELS, channel
from channels.rules.accounts import DEFAULT_ACCOUNT
from delivery.models import Delivery, Lane
from subscriptions.models import Destination, Subscription

# Stands for an account in SQL: a channel has one, or one per destination.
PROBE = "\0"
NO_OPTIONS: Mapping[str, str] = {}


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
