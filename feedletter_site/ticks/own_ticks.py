"""Ticks by the worker itself while beat or the broker is down."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from django_celery_beat.models import IntervalSchedule, PeriodicTask

from common.counters import count

log = logging.getLogger(__name__)

# Seconds. After the first without a tick, a worker checks for work; after the second it runs the stage, if
# work has waited for the third. The fourth is between checks.
ASK_AFTER, PATIENCE, WORK_WAITS, ASK_EVERY = 16.0, 20.0, 8.0, 4.0
# Work that has waited for so many seconds is logged.
TELL_AFTER = 30.0
# Admins may edit the schedule.
INTERVALS_REREAD_SECONDS = 30.0
# Checks are two seconds apart, so a longer gap means that the process was frozen.
STANDSTILL = 20.0
NEVER = float("-inf")


class OwnTicks:
    """Runs stages whose ticks are missing, by the monotonic clock.

    Workers share ticks, and a stage without work gets few, so the worker first checks for work. `askable`
    stages can be checked, others run at intervals.
    """

    def __init__(
        self,
        stages: Iterable[str],
        *,
        run: Callable[[str], object],
        intervals: Callable[[Iterable[str]], Mapping[str, float]],
        askable: Collection[str],
        without_work: Callable[[], Collection[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._run, self._ask_intervals, self._clock = run, intervals, clock
        self._askable, self._ask_without_work = askable, without_work
        self._heard = dict.fromkeys(stages, clock())
        self._ran: dict[str, float] = {}
        self._work_since: dict[str, float] = {}
        self._told: set[str] = set()
        self._intervals: Mapping[str, float] = {}
        self._read_at = self._asked_at = NEVER
        self._looked_at = clock()

    @property
    def stages(self) -> list[str]:
        return list(self._heard)

    def hear(self, stage: str) -> None:
        if stage not in self._heard:
            return
        self._heard[stage] = self._clock()
        if stage in self._told:
            self._told.discard(stage)
            log.warning("Ticks of %s come again.", stage, extra={"stage": stage})

    def look(self) -> None:
        now = self._clock()
        stood, self._looked_at = now - self._looked_at, now
        if stood >= STANDSTILL:
            # Others have taken over a frozen process's work.
            count("trouble", "stood_still")
            log.warning(
                "This worker did nothing for %d seconds. Was the process or its machine suspended?", stood
            )
        silent = {stage: now - at for stage, at in self._heard.items() if now - at >= ASK_AFTER}
        if silent and now - self._read_at >= INTERVALS_REREAD_SECONDS:
            self._intervals = self._ask_intervals(self.stages)
            self._read_at = now
        askable = [stage for stage in silent if stage in self._askable]
        if askable and now - self._asked_at >= ASK_EVERY:
            self._asked_at = now
            idle = self._ask_without_work()
            with_work = [stage for stage in askable if stage not in idle]
            self._work_since = {stage: self._work_since.get(stage, now) for stage in with_work}
        for stage, seconds in silent.items():
            interval = self._intervals.get(stage)
            if interval is None:
                continue
            if stage in self._askable:
                self._run_waiting(stage, interval, seconds, now)
            elif seconds >= PATIENCE + interval and now - self._ran.get(stage, NEVER) >= PATIENCE + interval:
                self._start(stage, now)

    def _run_waiting(self, stage: str, interval: float, silent: float, now: float) -> None:
        waited = min(silent, now - self._work_since.get(stage, now))
        if waited < WORK_WAITS or silent < PATIENCE:
            return
        if now - self._ran.get(stage, NEVER) >= interval:
            self._start(stage, now)
        if waited >= TELL_AFTER and stage not in self._told:
            self._told.add(stage)
            count("trouble", "no_ticks")
            log.warning(
                "No tick of %s came for %d seconds: this worker runs it itself. Are beat and broker up?",
                stage,
                silent,
                extra={"stage": stage},
            )

    def _start(self, stage: str, now: float) -> None:
        self._ran[stage] = now
        self._run(stage)


def intervals_of(stages: Iterable[str]) -> dict[str, float]:
    """Return seconds between ticks, without disabled stages."""
    rows = PeriodicTask.objects.filter(enabled=True, task__in=list(stages), interval__isnull=False)
    values = rows.values_list("task", "interval__every", "interval__period")
    lengths = {
        IntervalSchedule.DAYS: 86_400.0,
        IntervalSchedule.HOURS: 3_600.0,
        IntervalSchedule.MINUTES: 60.0,
        IntervalSchedule.SECONDS: 1.0,
    }
    return {task: every * lengths.get(period, 1.0) for task, every, period in values}
