"""Addresses that nothing is sent to for a while."""

from datetime import datetime

from common.text import one_line
from subscriptions.models import Destination

BY_HAND = "Disabled by hand."


def disable(*, destination: Destination, now: datetime, reason: str = BY_HAND) -> bool:
    """Nothing is sent there until it is enabled. False when it was so already: the first reason stays."""
    enabled = Destination.objects.filter(pk=destination.pk, disabled_at=None)
    return bool(enabled.update(disabled_at=now, disabled_reason=one_line(reason)))


def enable(*, destination: Destination) -> bool:
    """It may be written to again. False when it was so already, and for one that was erased."""
    disabled = Destination.objects.filter(pk=destination.pk, disabled_at__isnull=False, erased_at=None)
    return bool(disabled.update(disabled_at=None, disabled_reason=""))
