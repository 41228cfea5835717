"""How often a feed publishes, and whether its posts ever come to rest."""

from collections.abc import Iterable
from datetime import datetime
from itertools import pairwise
from statistics import median

from feeds.rules.finality import MINUTE

RHYTHM_POSTS = 20
# Two posts have one gap between them, which is no rhythm.
AT_LEAST = 3
# Some feeds date posts to the year 1.
LONGEST_RHYTHM = 366 * 24 * 60
# If every post had changed at so many readings in a row, that is no accident.
RESTLESS = 3


def rhythm_minutes(published: Iterable[datetime], now: datetime) -> int | None:
    """The median gap between the latest 20 of these moments, in whole minutes, at least 1 and at most a year.

    None with fewer than three. What came at one moment counts once; what is dated to the future, not at all.
    """
    moments = sorted({moment for moment in published if moment <= now})[-RHYTHM_POSTS:]
    if len(moments) < AT_LEAST:
        return None
    gaps = [(later - earlier) // MINUTE for earlier, later in pairwise(moments)]
    return min(max(int(median(gaps)), 1), LONGEST_RHYTHM)


def restless_after(polls: int, restless: bool | None) -> int:
    """The count of restless readings after one more. None: it showed no post that may still change."""
    if restless is None:
        return polls
    return polls + 1 if restless else 0
