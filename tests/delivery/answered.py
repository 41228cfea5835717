"""One letter sent to a failing server, and the resulting rows.

Connections that wait half a second for a silent server.
"""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

import pytest

from channels import email
from delivery.engine.send_pass import SendReport, send_due
from delivery.models import Attempt, Delivery, Lane
from tests.delivery.ledger import Clock, a_lane, queued
from tests.factories import NOW

SHORT = 0.5
# After any rest of a lane and any first back-off.
LATER = NOW + timedelta(minutes=20)


def send(now: datetime = NOW) -> SendReport:
    return send_due(clock=Clock(now))


def a_letter(**changes: Any) -> Delivery:
    """Create one letter for a lane of one connection."""
    a_lane(concurrency=1)
    (row,) = queued(**changes)
    return row


def after(row: Delivery) -> Delivery:
    return Delivery.objects.get(pk=row.pk)


def put_off(row: Delivery) -> bool:
    """Return whether only that letter waits, with one attempt counted and recorded; no lane rests."""
    row, lane = after(row), Lane.objects.get()
    written = list(Attempt.objects.filter(delivery=row).values_list("outcome", flat=True))
    facts = (row.state, row.attempts, row.due_at > NOW, row.lease_token, written)
    return facts in (
        ("deferred", 1, True, None, ["temporary"]),
        ("deferred", 1, True, None, ["ambiguous"]),
    ) and (lane.failures, lane.free_at) == (0, None)


def slowed(row: Delivery) -> bool:
    """Return whether its lane rests because of the response to this letter."""
    row, lane = after(row), Lane.objects.get()
    return (row.state, lane.failures) == ("deferred", 1) and lane.free_at is not None and lane.free_at > NOW


def untouched(row: Delivery) -> bool:
    """Return whether the lane rests with an error, and the letter waits unchanged."""
    row, lane = after(row), Lane.objects.get()
    assert lane.free_at is not None
    facts = (row.state, row.attempts, row.due_at, row.last_error, row.begun_at, row.lease_token)
    is_as_before = facts == ("queued", 0, NOW, "", None, None) and not Attempt.objects.exists()
    return is_as_before and lane.failures >= 1 and lane.free_at > NOW and bool(lane.last_error)


@pytest.fixture
def impatient() -> Iterator[None]:
    """Shorten the time-outs of sessions, which a send pass takes no argument for."""
    found = [patience for name in modules() if (patience := _patience(name)) is not None]
    assert found, "no session has a PATIENT any more"
    before = [
        (patience, {field.name: getattr(patience, field.name) for field in fields(patience)})
        for patience in found
    ]
    for patience, seconds in before:
        _set(patience, dict.fromkeys(seconds, SHORT))
    yield
    for patience, seconds in before:
        _set(patience, seconds)


def modules() -> list[str]:
    return [f"{email.__name__}.{module.name}" for module in pkgutil.iter_modules(email.__path__)]


def _patience(name: str) -> Any:
    return getattr(importlib.import_module(name), "PATIENT", None)


def _set(patience: object, seconds: dict[str, float]) -> None:
    for field, value in seconds.items():
        object.__setattr__(patience, field, value)  # the dataclass is frozen, for good reasons
