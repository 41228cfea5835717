"""Beat's scheduler, which goes on whatever happens, and lets stages rest while they have nothing to do."""

import logging
import time
from typing import Any

from celery.schedules import schedstate
from django.db import DatabaseError, InterfaceError

from common.clock import utcnow
from feedletter_site.monitoring.vitals import VITALS
from feedletter_site.monitoring.work import QUESTIONS, stages_without_work
from feedletter_site.ticks.steady_beat import SteadyScheduler

log = logging.getLogger(__name__)

# Seconds between two looks for work, and between two looks for what an admin changed in the schedule.
WORK_LOOK_SECONDS = 1.0
SCHEDULE_REREAD_SECONDS = 5.0
# A stage without work still ticks this often, for work that its question does not know of.
LONGEST_REST = 15.0


class Scheduler(SteadyScheduler):
    """Asks one question for all stages, because a tick that finds nothing costs as much as any other.

    Times are measured by the monotonic clock, so that a stage rests no longer than LONGEST_REST whatever
    happens to the clock on the wall.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._looked_at = self._reread_at = float("-inf")
        self._without_work: set[str] = set()
        self._ticked_at: dict[str, float] = {}
        super().__init__(*args, **kwargs)

    def is_due(self, entry: Any) -> schedstate:
        state: schedstate = super().is_due(entry)
        now = time.monotonic()
        rested = now - self._ticked_at.get(entry.name, float("-inf"))
        if not state.is_due or entry.task not in QUESTIONS or rested >= LONGEST_REST:
            return state
        if now - self._looked_at >= WORK_LOOK_SECONDS:
            self._looked_at = now
            try:
                self._without_work = stages_without_work(utcnow())
            except (DatabaseError, InterfaceError) as error:
                log.info("Beat cannot look for work, so that every stage ticks: %s", error)
                self._without_work = set()
        if entry.task not in self._without_work:
            return state
        # All of them come again right after the next look, so that one look serves them all.
        return schedstate(False, max(self._looked_at + WORK_LOOK_SECONDS - time.monotonic(), 0.01))

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        self._ticked_at[entry.name] = time.monotonic()
        super().apply_entry(entry, producer=producer)
        VITALS.ticked(entry.name)

    def schedule_changed(self) -> bool:
        """Called at every tick. The answer may be a few seconds old."""
        if time.monotonic() - self._reread_at < SCHEDULE_REREAD_SECONDS:
            return False
        self._reread_at = time.monotonic()
        return bool(super().schedule_changed())
