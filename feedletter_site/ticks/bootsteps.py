"""Ticks by the worker itself while beat or the broker is down."""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from celery import bootsteps
from celery.beat import Service
from celery.platforms import EX_OK
from celery.signals import task_received
from celery.worker import state
from django.db import DatabaseError, connections
from django_celery_beat.models import IntervalSchedule, PeriodicTask

from common.clock import utcnow
from common.counters import count
from common.shutdown import finished_last, stopping
from feedletter_site.celery import app, end_in_time
from feedletter_site.monitoring.stages import QUESTIONS, stages_without_work
from feedletter_site.ticks.schedule import STAGES, THREADS, queues

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
BEAT_PAUSE_SECONDS = 5
STOP_SECONDS = 3
TICK_LOOK_SECONDS = 2.0


class BeatThread(bootsteps.StartStopStep):
    """`celery worker -B` would fork beat with another memory broker."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self.stopping = threading.Event()
        self.service: Any = None
        self.thread: threading.Thread | None = None

    def start(self, parent: Any) -> None:
        self.service = self.new_service(parent.app)
        self.thread = threading.Thread(target=self.beat, args=(parent.app,), name="beat", daemon=True)
        self.thread.start()

    def stop(self, parent: Any) -> None:
        self.stopping.set()
        if self.thread is not None:
            self.service.stop()
            self.thread.join(STOP_SECONDS)

    def beat(self, app: Any) -> None:
        while not self.stopping.is_set():
            try:
                self.service.start()
            except Exception:
                log.exception("Beat failed; it begins again in %d seconds.", BEAT_PAUSE_SECONDS)
                self.stopping.wait(BEAT_PAUSE_SECONDS)
                self.service = self.new_service(app)

    @staticmethod
    def new_service(app: Any) -> Any:
        # At most one second between checks, for a quick stop.
        options: dict[str, Any] = {"scheduler_cls": app.conf.beat_scheduler, "remote_control": False}
        return Service(app, max_interval=1, **options)


class OwnTicksThread(bootsteps.StartStopStep):
    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        super().__init__(parent, **kwargs)
        self.stopping = threading.Event()
        self.tasks: dict[str, Any] = {}
        self.pool: ThreadPoolExecutor | None = None
        self.ticks: OwnTicks | None = None

    def start(self, parent: Any) -> None:
        self.tasks = tasks_of(parent.app)
        if not self.tasks:
            return
        self.pool = ThreadPoolExecutor(len(self.tasks), thread_name_prefix="own-tick")
        self.ticks = OwnTicks(
            self.tasks,
            run=self.run,
            intervals=intervals_of,
            askable=QUESTIONS,
            without_work=lambda: stages_without_work(utcnow()),
        )
        task_received.connect(self.hear)
        threading.Thread(target=self.watch, name="own-ticks", daemon=True).start()

    def stop(self, parent: Any) -> None:
        self.stopping.set()
        if self.pool is not None:
            task_received.disconnect(self.hear)
            self.pool.shutdown(cancel_futures=True)

    def hear(self, request: Any, **_: Any) -> None:
        if self.ticks is not None:
            self.ticks.hear(request.name)

    def run(self, stage: str) -> None:
        if self.pool is not None:
            self.pool.submit(self.run_here, stage)

    def run_here(self, stage: str) -> None:
        try:
            self.tasks[stage].apply()
        finally:
            # Idle threads need no connection.
            connections.close_all()

    def watch(self) -> None:
        while not self.stopping.wait(TICK_LOOK_SECONDS) and self.ticks is not None:
            try:
                self.ticks.look()
            except Exception as error:  # noqa: BLE001 - the next look is near
                level = logging.INFO if isinstance(error, DatabaseError) else logging.WARNING
                log.log(level, "This worker cannot see which stages are due: %s", error)
            finally:
                connections.close_all()


def tasks_of(app: Any) -> dict[str, Any]:
    queues, usual = set(app.amqp.queues.consume_from), app.conf.task_default_queue
    routes = app.conf.task_routes or {}
    return {name: app.tasks[name] for name in STAGES if routes.get(name, {}).get("queue", usual) in queues}


def work_here() -> None:
    """Start a worker for all queues in threads of this web process. They end together."""
    options: dict[str, Any] = {"without_gossip": True, "without_mingle": True, "without_heartbeat": True}
    worker = app.Worker(pool="threads", concurrency=THREADS, queues=queues(), quiet=True, **options)
    thread = threading.Thread(target=_work, args=(worker,), name="worker")
    finished_last.append(thread)
    thread.start()
    threading.Thread(target=_stop_with_the_pages, name="stop", daemon=True).start()


def _work(worker: Any) -> None:
    worker.start()
    if not stopping.is_set():
        # It is started again together with the pages.
        os.kill(os.getpid(), signal.SIGTERM)


def _stop_with_the_pages() -> None:
    stopping.wait()
    end_in_time()
    setattr(state, "should_stop", EX_OK)  # noqa: B010 - Celery's types know None only


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
