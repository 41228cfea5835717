"""A worker's own ticks: what it does when none come, because beat or the broker is away or hangs."""

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping

from django_celery_beat.models import IntervalSchedule, PeriodicTask

from common.counters import count

log = logging.getLogger(__name__)

# Seconds without a tick after which a worker asks whether there is work, and after which it may do it itself;
# for how long work has to have waited then, and how often it is asked for.
ASK_AFTER, PATIENCE, WORK_WAITS, ASK_EVERY = 16.0, 20.0, 8.0, 4.0
# For how long work has to wait without a tick until the worker says so.
TELL_AFTER = 30.0
# Seconds between two looks at the schedule, which an admin may change meanwhile.
REREAD_EVERY = 30.0
# So many seconds between two looks (there are two apart): the process did not run.
STANDSTILL = 20.0
NEVER = float("-inf")


class OwnTicks:
    """By the monotonic clock, which nobody sets. Ticks that come again end it.

    Several workers share the ticks, and a stage without work has few: to have heard none for long is nothing
    by itself. What nobody can be asked for its work (`askable` are the others) runs now and then instead.
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
        self._notice_standstill(now)
        silent = {stage: now - at for stage, at in self._heard.items() if now - at >= ASK_AFTER}
        if silent and now - self._read_at >= REREAD_EVERY:
            self._intervals = self._ask_intervals(self.stages)
            self._read_at = now
        self._ask_for_work([stage for stage in silent if stage in self._askable], now)
        for stage, seconds in silent.items():
            interval = self._intervals.get(stage)
            if interval is None:
                continue
            if stage in self._askable:
                self._serve(stage, interval, min(seconds, self._waited(stage, now)), seconds, now)
            elif seconds >= PATIENCE + interval and now - self._ran.get(stage, NEVER) >= PATIENCE + interval:
                self._start(stage, now)

    def _notice_standstill(self, now: float) -> None:
        """A process, or its machine, that was frozen: what it held was taken from it meanwhile."""
        stood, self._looked_at = now - self._looked_at, now
        if stood >= STANDSTILL:
            count("trouble", "stood_still")
            log.warning("This worker stood still for %d seconds. Was it frozen, or its machine?", stood)

    def _waited(self, stage: str, now: float) -> float:
        """For how long the stage has had work, as far as this worker asked."""
        return now - self._work_since.get(stage, now)

    def _ask_for_work(self, stages: Collection[str], now: float) -> None:
        if not stages or now - self._asked_at < ASK_EVERY:
            return
        self._asked_at = now
        idle = self._ask_without_work()
        self._work_since = {stage: self._work_since.get(stage, now) for stage in stages if stage not in idle}

    def _serve(self, stage: str, interval: float, waited: float, silent: float, now: float) -> None:
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
