"""A worker's own ticks, for when none come because beat or the broker is away or hangs."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from django_celery_beat.models import IntervalSchedule, PeriodicTask

from common.counters import count

log = logging.getLogger(__name__)

# Seconds: without a tick for the first, a worker asks whether there is work; for the second, it may do the
# work itself, if that has waited for the third. The fourth lies between two questions.
ASK_AFTER, PATIENCE, WORK_WAITS, ASK_EVERY = 16.0, 20.0, 8.0, 4.0
# After work has waited so many seconds without a tick, the worker logs it.
TELL_AFTER = 30.0
# Seconds between two looks at the schedule, which an admin may change meanwhile.
INTERVALS_REREAD_SECONDS = 30.0
# Looks come two seconds apart: when so many lie between two of them, the process did not run.
STANDSTILL = 20.0
NEVER = float("-inf")


class OwnTicks:
    """Runs stages whose ticks do not come, until they come again. By the monotonic clock, which nobody sets.

    Several workers share the ticks, and a stage without work gets few: silence means nothing by itself.
    So the worker first asks whether a stage has work. `askable` are the stages that can be asked; any other
    one simply runs now and then.
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
        """A tick came."""
        if stage not in self._heard:
            return
        self._heard[stage] = self._clock()
        if stage in self._told:
            self._told.discard(stage)
            log.warning("Ticks of %s come again.", stage, extra={"stage": stage})

    def look(self) -> None:
        """Runs what is overdue, as often as the schedule says."""
        now = self._clock()
        stood, self._looked_at = now - self._looked_at, now
        if stood >= STANDSTILL:
            # Whatever a frozen process held was taken from it meanwhile.
            count("trouble", "stood_still")
            log.warning("This worker stood still for %d seconds. Was it frozen, or its machine?", stood)
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
        """Runs the stage if its work has waited long enough, as far as this worker knows."""
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
    """Seconds between two ticks of each, as the admin set them; those that are switched off are left out."""
    rows = PeriodicTask.objects.filter(enabled=True, task__in=list(stages), interval__isnull=False)
    found = rows.values_list("task", "interval__every", "interval__period")
    lengths = {
        IntervalSchedule.DAYS: 86_400.0,
        IntervalSchedule.HOURS: 3_600.0,
        IntervalSchedule.MINUTES: 60.0,
        IntervalSchedule.SECONDS: 1.0,
    }
    return {task: every * lengths.get(period, 1.0) for task, every, period in found}
