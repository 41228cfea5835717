"""The threads beside a worker's pool: they start, go on after an error, and stop in time.

A worker that gets no ticks makes its own; with ticks it relies on them.
"""

import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from celery.signals import task_received
from django.db import OperationalError
from django_celery_beat.models import PeriodicTask

from feedletter_site.celery import app
from feedletter_site.ticks import bootsteps
from feedletter_site.ticks.bootsteps import (
    ASK_AFTER,
    INTERVALS_REREAD_SECONDS,
    PATIENCE,
    BeatThread,
    OwnTicks,
    OwnTicksThread,
    intervals_of,
    tasks_of,
)

REAP = "delivery.reap"
SEND = "delivery.send"
WORKER: Any = SimpleNamespace(app=app)


class BeatService:
    """Beat that runs until it is stopped, or fails at once."""

    def __init__(self, fails: bool) -> None:
        self.fails, self.begun, self.stopped = fails, threading.Event(), threading.Event()

    def start(self) -> None:
        self.begun.set()
        if self.fails:
            raise OSError("The broker is away.")
        assert self.stopped.wait(5)

    def stop(self) -> None:
        self.stopped.set()


def test_after_an_error_beat_begins_anew_and_it_stops_with_its_worker(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    services = [BeatService(fails=True), BeatService(fails=False)]
    made = iter(services)
    monkeypatch.setattr(bootsteps, "BEAT_PAUSE_SECONDS", 0)
    monkeypatch.setattr(BeatThread, "new_service", staticmethod(lambda app: next(made)))
    step = BeatThread(WORKER)
    step.start(WORKER)
    assert services[1].begun.wait(5)
    step.stop(WORKER)
    assert step.thread is not None
    assert not step.thread.is_alive()


def test_beat_looks_each_second_so_that_it_stops_in_time() -> None:
    service = BeatThread.new_service(app)
    assert service.max_interval == 1
    assert service.scheduler_cls == app.conf.beat_scheduler


def test_a_worker_that_never_began_can_be_stopped() -> None:
    for step in (BeatThread(WORKER), OwnTicksThread(WORKER)):
        step.stop(WORKER)


def until(database_unreachable: Callable[[], object]) -> None:
    end = time.monotonic() + 5
    while not database_unreachable():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def closed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the threads that closed their connections."""
    names: list[str] = []
    there = SimpleNamespace(close_all=lambda: names.append(threading.current_thread().name))
    monkeypatch.setattr(bootsteps, "connections", there)
    return names


class Ticks:
    """Ticks that run a stage at each look; the second look fails."""

    def __init__(self, stages: Collection[str], *, run: Callable[[str], object], **_: object) -> None:
        self.stages, self.run, self.looks, self.heard = stages, run, 0, list[str]()

    def look(self) -> None:
        self.looks += 1
        if self.looks == 2:
            raise OperationalError("The database is away.")
        self.run(SEND)

    def hear(self, stage: str) -> None:
        self.heard.append(stage)


def test_what_no_tick_comes_for_runs_here_and_a_look_that_fails_is_not_the_last(
    monkeypatch: pytest.MonkeyPatch, closed: list[str]
) -> None:
    ran: list[str] = []
    task = SimpleNamespace(apply=lambda: ran.append(threading.current_thread().name))
    monkeypatch.setattr(bootsteps, "TICK_LOOK_SECONDS", 0.005)
    monkeypatch.setattr(bootsteps, "tasks_of", lambda app: {SEND: task})
    monkeypatch.setattr(bootsteps, "OwnTicks", Ticks)
    step = OwnTicksThread(WORKER)
    step.start(WORKER)
    ticks: Any = step.ticks
    task_received.send(None, request=SimpleNamespace(name=SEND))
    until(lambda: ticks.looks > 3 and len(ran) > 1)
    step.stop(WORKER)
    task_received.send(None, request=SimpleNamespace(name="feeds.poll"))
    assert ticks.heard == [SEND]
    assert {name.split("_")[0] for name in ran} == {"own-tick"}
    assert set(ran) < set(closed)
    assert "own-ticks" in closed


def test_a_worker_without_stages_has_no_thread_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootsteps, "tasks_of", lambda app: {})
    step, before = OwnTicksThread(WORKER), threading.active_count()
    step.start(WORKER)
    step.hear(SimpleNamespace(name=SEND))
    step.run(SEND)
    assert threading.active_count() == before
    step.stop(WORKER)


def test_a_worker_that_ends_by_itself_ends_the_web_process_which_is_restarted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda *process_and_signal: ended.append(process_and_signal))
    bootsteps._work(SimpleNamespace(start=lambda: None))
    assert ended == [(os.getpid(), signal.SIGTERM)]


class World:
    def __init__(self) -> None:
        self.now = 1000.0
        self.ran: list[tuple[str, float]] = []
        self.known: dict[str, float] = {SEND: 2.0, REAP: 15.0}
        self.reads = self.asks = 0
        self.idle: set[str] = set()
        self.ticks = OwnTicks(
            [SEND, REAP],
            run=self.run,
            intervals=self.intervals,
            askable={SEND},
            without_work=self.without_work,
            clock=lambda: self.now,
        )

    def run(self, stage: str) -> None:
        self.ran.append((stage, self.now - 1000))

    def intervals(self, stages: Iterable[str]) -> Mapping[str, float]:
        self.reads += 1
        return {stage: self.known[stage] for stage in stages if stage in self.known}

    def without_work(self) -> set[str]:
        self.asks += 1
        return self.idle

    def live(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1
            self.ticks.look()

    def sent_at(self) -> list[float]:
        return [at for stage, at in self.ran if stage == SEND]


def test_while_ticks_come_nothing_runs_by_itself_and_nobody_is_asked() -> None:
    world = World()
    for _ in range(10):
        world.live(int(ASK_AFTER) - 1)
        world.ticks.hear(SEND)
        world.ticks.hear(REAP)
    assert world.ran == []
    assert (world.reads, world.asks) == (0, 0)


def test_without_ticks_work_is_done_at_the_stages_interval() -> None:
    world = World()
    world.live(60)
    assert world.sent_at() == list(range(24, 61, 2))


def test_what_cannot_be_asked_for_its_work_runs_now_and_then() -> None:
    world = World()
    world.live(80)
    assert [at for stage, at in world.ran if stage == REAP] == [35, 70]


def test_without_work_there_is_nothing_to_do_and_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    """Among several workers each gets ticks of an idle stage seldom."""
    world = World()
    world.idle = {SEND}
    world.live(300)
    assert world.sent_at() == []
    world.idle = set()
    world.live(25)
    assert world.sent_at()[0] <= 315
    assert caplog.messages == []


def test_work_that_another_worker_does_is_left_to_it() -> None:
    world = World()
    world.idle = {SEND}
    world.live(300)
    for _ in range(5):
        world.idle = set()
        world.live(5)
        world.idle = {SEND}
        world.live(5)
    assert world.sent_at() == []


def test_a_worker_that_was_frozen_says_so(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    world.live(1)
    world.now += 100
    world.live(5)
    assert [message for message in caplog.messages if "did nothing" in message] == [
        "This worker did nothing for 101 seconds. Was the process or its machine suspended?"
    ]


def test_a_tick_that_comes_again_ends_it(caplog: pytest.LogCaptureFixture) -> None:
    world = World()
    with caplog.at_level(logging.WARNING, "feedletter_site.ticks.bootsteps"):
        world.live(60)
        world.ticks.hear(SEND)
        before = world.sent_at()
        world.live(int(PATIENCE) - 1)
    assert world.sent_at() == before
    assert caplog.messages == [
        f"No tick of {SEND} came for 46 seconds: this worker runs it itself. Are beat and broker up?",
        f"Ticks of {SEND} come again.",
    ]


def test_a_stage_that_the_admin_switched_off_stays_off() -> None:
    world = World()
    del world.known[SEND]
    world.live(60)
    assert {stage for stage, _ in world.ran} == {REAP}
    world.known[SEND] = 2.0
    world.live(int(INTERVALS_REREAD_SECONDS) + 2)
    assert {stage for stage, _ in world.ran} == {REAP, SEND}


def test_what_this_worker_has_no_part_in_is_not_its_concern() -> None:
    world = World()
    world.ticks.hear("feeds.poll")
    assert world.ticks.stages == [SEND, REAP]


@pytest.mark.django_db
def test_the_intervals_are_the_admins() -> None:
    PeriodicTask.objects.filter(name=SEND).update(enabled=False)
    found = intervals_of([SEND, REAP, "delivery.prune"])
    assert found == {REAP: 15.0, "delivery.prune": 86_400.0}


def test_a_worker_looks_after_the_stages_of_its_queues(monkeypatch: pytest.MonkeyPatch) -> None:
    app.loader.import_default_modules()
    monkeypatch.setattr(type(app.amqp.queues), "consume_from", {"send": None, "reap": None})
    assert set(tasks_of(app)) == {
        "delivery.send",
        "delivery.reap",
        "delivery.alert",
        "delivery.prune",
        "feedletter_site.figures",
        "feedletter_site.backup",
    }
