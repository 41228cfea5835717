"""The threads beside a worker's pool: they start, go on after an error, and stop in time."""

import os
import signal
import threading
import time
from collections.abc import Callable, Collection
from types import SimpleNamespace
from typing import Any

import pytest
from celery.signals import task_received
from django.db import OperationalError

from feedletter_site.celery import app
from feedletter_site.ticks import bootsteps
from feedletter_site.ticks.bootsteps import BeatThread, OwnTicksThread

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
