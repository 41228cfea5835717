from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from fediverse.models import Activity, Outgoing


def to_exchange(now: datetime) -> "tuple[QuerySet[Any], ...]":
    return (Activity.objects.due(now), Outgoing.objects.due(now))
