from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from statistics import median

from feeds.rules.finality import MINUTE

RHYTHM_POSTS = 20
# Fewer are no rhythm.
AT_LEAST = 3
# Some feeds use the year 1.
LONGEST_RHYTHM = 366 * 24 * 60
# Readings in which every post changed.
RESTLESS = 3


def rhythm_minutes(published: Iterable[datetime], now: datetime) -> int | None:
    """Return the median gap of the latest 20 moments, from a minute to a year.

    Equal moments count once, future ones never.
    """
    moments = sorted({moment for moment in published if moment <= now})[-RHYTHM_POSTS:]
    if len(moments) < AT_LEAST:
        return None
    gaps = [(later - earlier) // MINUTE for earlier, later in pairwise(moments)]
    return min(max(int(median(gaps)), 1), LONGEST_RHYTHM)


def restless_after(polls: int, restless: bool | None) -> int:
    if restless is None:
        return polls
    return polls + 1 if restless else 0
