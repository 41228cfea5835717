"""The port for restores: what a backup calls unsent may have been sent since, by any app that sends."""

from collections.abc import Callable
from datetime import datetime

Hold = Callable[[datetime], object]

_holds: list[Hold] = []


def hold_by(hold: Hold) -> None:
    """Adds what an app does with its unsent rows when a backup was restored, at that time."""
    _holds.append(hold)


def hold_unsent(now: datetime) -> None:
    """Has every app hold what it would send, in the caller's transaction."""
    for hold in _holds:
        hold(now)
