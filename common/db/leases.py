"""Leases with a random token, so that a late worker cannot overwrite its successor."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

RELEASED = {"lease_token": None, "lease_until": None}


def handed_on(now: datetime) -> dict[str, Any]:
    """Return fields that leave a row to the next worker; an expired lease records since when."""
    return {"lease_token": None, "lease_until": now}


def lease(now: datetime, length: timedelta) -> tuple[uuid.UUID, datetime]:
    """Return a new token, and the lease's end."""
    return uuid.uuid4(), now + length


def unleased(now: datetime) -> Q:
    """Match rows without a worker, that is without a token or with an expired lease."""
    return Q(lease_token=None) | Q(lease_until__lt=now)


def held_by(row: Any) -> "QuerySet[Any]":
    """Match the row only while its lease and state are unchanged."""
    model = type(row)
    return model._default_manager.filter(pk=row.pk, lease_token=row.lease_token, state=row.state)  # type: ignore[no-any-return]


@contextmanager
def held(row: Any) -> Iterator[bool]:
    """Lock the row; yield False if another worker has it or it was stopped."""
    with transaction.atomic():
        yield bool(held_by(row).select_for_update(no_key=True).values_list("pk"))
