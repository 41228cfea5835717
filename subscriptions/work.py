"""First queries of each pass. Without results none starts."""

from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from subscriptions.collections.assign import takable
from subscriptions.models import FailedAssignment, ListImport


def to_assign(now: datetime) -> "tuple[QuerySet[Any], ...]":
    waits = FailedAssignment.objects.filter(item=OuterRef("pk"), next_try_at__gt=now)
    return (takable(now).filter(~Exists(waits)),)


def to_take_over(now: datetime) -> "tuple[QuerySet[Any], ...]":
    return (ListImport.claimable(now), ListImport.forgettable(now))
