"""Connects bridges: a destination is asked first, and nothing is posted before the admin says so."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction

from common.ports import channels
from common.ports.channels import InvalidDestination
from common.secrets import opened
from delivery.models import Lane
from feeds.models import Feed
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from subscriptions.subscribers.admin_changes import subscribe_checked


def connect_bridge(
    *, name: str, channel: str, feeds: Sequence[Feed], data: Mapping[str, str], now: datetime, **fields: Any
) -> Subscription:
    """Defines a bridge and connects it, if the service takes the destination (network).

    `data` are the destination's fields, `fields` the newsletter's others. Raises InvalidDestination and
    ValidationError.
    """
    kind = channels.get(channel)
    parsed = kind.check(kind.parse_destination(data))
    with transaction.atomic():
        made = define_subscribable(name=name, feeds=feeds, channel=channel, **fields)
        return subscribe_checked(subscribable=made, parsed=parsed, now=now)


def connections_of(bridge: Subscribable) -> list[Subscription]:
    """What it posts to."""
    rows = bridge.subscriptions.filter(status=Subscription.Status.CONFIRMED, ended_at=None)
    return list(rows.select_related("destination", "subscribable").order_by("pk"))


def begin_posting(subscribable: Subscribable) -> Subscribable:
    """From now on it takes the posts that settle."""
    return alter_subscribable(subscribable=subscribable, stopped=False)


def check_again(destination: Destination) -> str:
    """How the service calls the destination, asked with what is stored (network).

    Raises InvalidDestination.
    """
    kind = channels.get(destination.kind)
    stored = channels.ParsedDestination(
        core=destination.core,
        label=destination.label,
        config=dict(destination.config),
        secrets=read_secrets(destination),
    )
    return kind.check(stored).label


def reconnect(*, destination: Destination, data: Mapping[str, str], now: datetime) -> Destination:
    """Gives it new credentials, if the service takes them (network), and lets it be posted to again.

    Raises InvalidDestination, also for the fields of another destination.
    """
    kind = channels.get(destination.kind)
    parsed = kind.check(kind.parse_destination(data))
    if parsed.core != destination.core:
        raise InvalidDestination(
            f"That is {parsed.label}, and this bridge posts to {destination.label}. For another one, add"
            " another bridge."
        )
    facts = {"label": parsed.label, "config": parsed.config, "secrets": parsed.secrets}
    with transaction.atomic():
        row = Destination.objects.select_for_update(no_key=True).get(pk=destination.pk)
        for field, value in {**facts, "disabled_at": None, "disabled_reason": ""}.items():
            setattr(row, field, value)
        row.save()
        # It rests because of what was just replaced.
        resting = Lane.objects.filter(kind=row.kind, account=row.core)
        resting.update(free_at=None, failures=0, last_error="", refused_since=None)
    return row


def read_secrets(destination: Destination) -> dict[str, str]:
    """Raises InvalidDestination where they cannot be read any more."""
    try:
        return opened(destination.secrets)
    except ValueError as error:
        raise InvalidDestination(f"{error} Or connect {destination.label} again.") from error
