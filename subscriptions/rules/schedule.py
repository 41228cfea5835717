"""A schedule: how a newsletter collects its posts, as the rules see it."""

from dataclasses import dataclass
from datetime import time

PERIODIC = frozenset({"daily", "weekly", "monthly", "cron"})
ARRANGEMENTS = PERIODIC | {"each", "every_n"}


@dataclass(frozen=True, slots=True)
class Schedule:
    """An arrangement with its details; each arrangement reads only its own.

    `at` is the wall clock's time of the cut. `weekday` counts from 0 = Monday (cron counts from Sunday).
    `day_of_month` 29 to 31 mean the last day in shorter months. `cron` is minute hour day month weekday.
    """

    arrangement: str
    at: time = time(0)
    weekday: int = 0
    day_of_month: int = 1
    cron: str = ""

    @property
    def has_periods(self) -> bool:
        """Whether collections are cut by the calendar, not by their posts."""
        return self.arrangement in PERIODIC
