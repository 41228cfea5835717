"""Figures of a list's growth, put together by days and by weeks."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

Days = Mapping[date, int]
# What each day has a count of: sign-ups, confirmations, those who left, those who can no longer be reached.
FIGURES = ("new", "confirmed", "left", "bounced")
WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class GrowthStretch:
    """A day, or the week that begins with it."""

    start: date
    new: int = 0
    confirmed: int = 0
    left: int = 0
    bounced: int = 0


def by_day(figures: Mapping[str, Days], *, today: date, count: int) -> list[GrowthStretch]:
    """The last `count` days, today included, also those on which nothing happened."""
    days = (today - timedelta(days=back) for back in reversed(range(count)))
    return [_stretch(figures, day, 1) for day in days]


def by_week(figures: Mapping[str, Days], *, today: date, count: int) -> list[GrowthStretch]:
    """The last `count` weeks, each from Monday on; the present one as far as it has come."""
    return [_stretch(figures, first_monday(today, count) + WEEK * each, 7) for each in range(count)]


def first_monday(today: date, count: int) -> date:
    """The Monday on which the first of the last `count` weeks begins."""
    return today - timedelta(days=today.weekday()) - WEEK * (count - 1)


def totals(stretches: list[GrowthStretch]) -> GrowthStretch:
    """The sums over all stretches."""
    sums = {part: sum(getattr(each, part) for each in stretches) for part in FIGURES}
    return GrowthStretch(stretches[0].start, **sums)


def _stretch(figures: Mapping[str, Days], start: date, length: int) -> GrowthStretch:
    days = [start + timedelta(days=each) for each in range(length)]
    counts = {part: sum(figures.get(part, {}).get(day, 0) for day in days) for part in FIGURES}
    return GrowthStretch(start, **counts)
