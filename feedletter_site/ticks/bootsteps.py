import logging
import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from celery import bootsteps
from celery.beat import Service
from celery.platforms import EX_OK
from celery.signals import task_received
from celery.worker import state
from django.db import DatabaseError, connections

from common.clock import utcnow
from common.shutdown import finished_last, stopping
from feedletter_site.celery import app, end_in_time
from feedletter_site.monitoring.stages import QUESTIONS, stages_without_work
from feedletter_site.ticks.own_ticks import OwnTicks, intervals_of
from feedletter_site.ticks.schedule import STAGES, THREADS, queues

logger = logging.getLogger(__name__)
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
                logger.exception("Beat failed; it begins again in %d seconds.", BEAT_PAUSE_SECONDS)
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
                logger.log(level, "This worker cannot see which stages are due: %s", error)
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
