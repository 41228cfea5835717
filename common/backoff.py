"""How long to wait after the n-th failure."""

import random
from datetime import timedelta


def delay(failures: int, *, first: timedelta, limit: timedelta, chance: float | None = None) -> timedelta:
    """Doubles from `first` up to `limit`, then varied by ±10 % so that failures do not march in step.

    `failures` counts from 1. `chance` in [0, 1) replaces the random draw.
    """
    draw = random.random() if chance is None else chance  # noqa: S311 - not for secrets
    doubled: timedelta = first * 2 ** min(max(failures - 1, 0), 30)
    return min(doubled, limit) * (0.9 + 0.2 * draw)
