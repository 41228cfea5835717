"""Restores: mail that a backup has as unsent may have been sent since."""

from collections.abc import Callable
from datetime import datetime

Hold = Callable[[datetime], object]

_holds: list[Hold] = []


def hold_by(hold: Hold) -> None:
    _holds.append(hold)


def hold_unsent(now: datetime) -> None:
    """Hold in the caller's transaction."""
    for hold in _holds:
        hold(now)
