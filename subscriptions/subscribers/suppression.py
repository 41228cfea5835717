"""Addresses that get no mail: suppressed until lifted, or disabled."""

from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from common.ports import channels
from common.ports.channels import InvalidDestination
from common.text import one_line, shortened
from subscriptions.models import Destination, Suppression

MAX_REASON = 1000
DISABLED_BY_HAND = "Disabled by hand."


def email_core(address: str) -> str:
    """Return an email address as destinations compare it; "" if invalid."""
    try:
        return channels.get("email").parse_destination({"email": address}).core
    except InvalidDestination:
        return ""


def suppress(*, kind: str, core: str, reason: str, now: datetime) -> bool:
    """Return False if suppressed before, keeping the first reason."""
    shown = shortened(one_line(reason), MAX_REASON)
    _, created = Suppression.objects.get_or_create(
        kind=kind, core=core, defaults={"reason": shown, "created_at": now}
    )
    return created


@transaction.atomic
def lift(*, suppressions: Iterable[Suppression]) -> int:
    """Also enables the addresses."""
    rows = list(suppressions)
    for row in rows:
        known = Destination.objects.filter(kind=row.kind, core=row.core, disabled_at__isnull=False)
        known.update(disabled_at=None, disabled_reason="")
    Suppression.objects.filter(pk__in=[row.pk for row in rows]).delete()
    return len(rows)


def disable(*, destination: Destination, now: datetime, reason: str = DISABLED_BY_HAND) -> bool:
    """Return False if disabled before, keeping the first reason."""
    enabled = Destination.objects.filter(pk=destination.pk, disabled_at=None)
    return bool(enabled.update(disabled_at=now, disabled_reason=one_line(reason)))


def enable(*, destination: Destination) -> bool:
    disabled = Destination.objects.filter(pk=destination.pk, disabled_at__isnull=False, erased_at=None)
    return bool(disabled.update(disabled_at=None, disabled_reason=""))
