"""Claims: a random token and an end, so that a late worker cannot overwrite its successor."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

# The fields of an UPDATE that ends a lease.
RELEASED = {"lease_token": None, "lease_until": None}


def handed_on(now: datetime) -> dict[str, Any]:
    """The fields of an UPDATE that leaves a row to the next worker.

    A lease that is over says since when the row waits.
    """
    return {"lease_token": None, "lease_until": now}


@dataclass(frozen=True, slots=True)
class Lease:
    token: uuid.UUID
    until: datetime


def lease(now: datetime, length: timedelta) -> Lease:
    """A fresh lease from `now`."""
    return Lease(token=uuid.uuid4(), until=now + length)


def unleased(now: datetime) -> Q:
    """The condition on rows that no worker has. One without a token has none, whatever clocks say."""
    return Q(lease_token=None) | Q(lease_until__lt=now)


def held_by(row: Any) -> "QuerySet[Any]":
    """The row, as long as it has the lease and the state that were read with it."""
    model = type(row)
    return model._default_manager.filter(pk=row.pk, lease_token=row.lease_token, state=row.state)  # type: ignore[no-any-return]


@contextmanager
def held(row: Any) -> Iterator[bool]:
    """A transaction that locks the row. Gives False when another worker has it, or somebody stopped it."""
    with transaction.atomic():
        yield bool(held_by(row).select_for_update(no_key=True).values_list("pk"))
