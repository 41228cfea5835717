"""Connections that wait half a second for a silent server."""

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from channels import email

SHORT = 0.5


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
