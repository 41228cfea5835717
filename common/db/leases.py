"""Claims: a random token and an end, so that a late worker cannot overwrite its successor."""

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta

# The fields of an UPDATE that ends a lease.
RELEASED = {"lease_token": None, "lease_until": None}


@dataclass(frozen=True, slots=True)
class Lease:
    token: uuid.UUID
    until: datetime


def lease(now: datetime, length: timedelta) -> Lease:
    """A fresh lease from `now`."""
    return Lease(token=uuid.uuid4(), until=now + length)
