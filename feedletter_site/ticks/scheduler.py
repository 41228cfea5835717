"""Skips stages without work."""

import logging
import time
from typing import Any

from celery.schedules import schedstate
from django.db import DatabaseError, InterfaceError

from common.clock import utcnow
from common.optional_apps import switched_on
from feedletter_site.monitoring.stages import QUESTIONS, stages_without_work
from feedletter_site.monitoring.vitals import VITALS
from feedletter_site.ticks.steady_beat import SteadyScheduler

log = logging.getLogger(__name__)

# Seconds between checks for work, and for edits of the schedule.
WORK_LOOK_SECONDS = 1.0
SCHEDULE_REREAD_SECONDS = 5.0
# Seconds until a stage ticks anyway, for work that its query does not cover.
LONGEST_REST = 15.0


class Scheduler(SteadyScheduler):
    """Checks all stages with one query, because an empty tick costs as much as any other.

    Uses the monotonic clock, so that clock changes cannot delay stages.
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
                log.info("Beat can't check for work, so every stage ticks: %s", error)
                self._without_work = set()
        if entry.task not in self._without_work:
            return state
        # All are due right after the next check, so that one check serves all.
        return schedstate(False, max(self._looked_at + WORK_LOOK_SECONDS - time.monotonic(), 0.01))

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        self._ticked_at[entry.name] = time.monotonic()
        super().apply_entry(entry, producer=producer)
        VITALS.ticked(entry.name)

    def all_as_schedule(self) -> dict[str, Any]:
        """No worker takes the ticks of apps that are off."""
        return switched_on(super().all_as_schedule())

    def schedule_changed(self) -> bool:
        """May be outdated by SCHEDULE_REREAD_SECONDS."""
        if time.monotonic() - self._reread_at < SCHEDULE_REREAD_SECONDS:
            return False
        self._reread_at = time.monotonic()
        return bool(super().schedule_changed())
