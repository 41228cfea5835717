import random
from datetime import timedelta


def delay(failures: int, *, first: timedelta, limit: timedelta, chance: float | None = None) -> timedelta:
    """Double `first` per failure (from 1) up to `limit`, ±10 % so that retries spread out."""
    draw = random.random() if chance is None else chance  # noqa: S311 - not for secrets
    doubled: timedelta = first * 2 ** min(max(failures - 1, 0), 30)
    return min(doubled, limit) * (0.9 + 0.2 * draw)
