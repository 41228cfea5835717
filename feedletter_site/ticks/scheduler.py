"""Beat's scheduler: one that goes on whatever happens, and lets the stages rest that have nothing to do."""

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
LOOK_EVERY = 1.0
REREAD_EVERY = 5.0
# A stage without work ticks as seldom as this: for whatever its question does not know of.
LONGEST_REST = 15.0


class Scheduler(SteadyScheduler):
    """A tick that finds nothing costs as much as one that finds something: hence one question for all.

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
        if not state.is_due or not self._may_rest(entry):
            return state
        # (All of them are asked at the next look, so that one look is enough.)
        return schedstate(False, max(self._looked_at + LOOK_EVERY - time.monotonic(), 0.01))

    def _may_rest(self, entry: Any) -> bool:
        if entry.task not in QUESTIONS:
            return False
        rested = time.monotonic() - self._ticked_at.get(entry.name, float("-inf"))
        return rested < LONGEST_REST and entry.task in self._looked()

    def _looked(self) -> set[str]:
        now = time.monotonic()
        if now - self._looked_at >= LOOK_EVERY:
            self._looked_at = now
            try:
                self._without_work = stages_without_work(utcnow())
            except (DatabaseError, InterfaceError) as error:
                log.info("Beat cannot look for work, so that every stage ticks: %s", error)
                self._without_work = set()
        return self._without_work

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        self._ticked_at[entry.name] = time.monotonic()
        super().apply_entry(entry, producer=producer)
        VITALS.ticked(entry.name)

    def schedule_changed(self) -> bool:
        """(Asked at every tick; the answer may be a few seconds old.)"""
        if time.monotonic() - self._reread_at < REREAD_EVERY:
            return False
        self._reread_at = time.monotonic()
        return bool(super().schedule_changed())
