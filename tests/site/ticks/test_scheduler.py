"""Beat ticks the stages that have work, and the others now and then.

It survives clock changes, a queue nobody empties, and outages of broker or database.
"""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from celery.schedules import schedstate, schedule
from django.db import OperationalError
from django_celery_beat import models, schedulers
from django_celery_beat.models import PeriodicTask

from common.clock import Drift
from feedletter_site.celery import app
from feedletter_site.ticks import scheduler
from feedletter_site.ticks.scheduler import LONGEST_REST, MOST_WAITING, Scheduler

SEND, REAP, PRUNE = "delivery.send", "delivery.reap", "delivery.prune"


class World:
    """Monotonic clock that is moved by hand, and the result of the check for work."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.without_work: set[str] | Exception = {SEND}
        self.looks = 0

    def look(self, _: Any) -> set[str]:
        self.looks += 1
        if isinstance(self.without_work, Exception):
            raise self.without_work
        return self.without_work


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    monkeypatch.setattr(scheduler, "time", SimpleNamespace(monotonic=lambda: made.now))
    monkeypatch.setattr(scheduler, "stages_without_work", made.look)
    monkeypatch.setattr(Scheduler, "apply_async", lambda *_, **__: None)
    return made


def an_entry(task: str, *, is_due: bool = True, every: int = 2) -> Any:
    seconds = schedule(timedelta(seconds=every))
    return SimpleNamespace(
        name=task, task=task, options={}, schedule=seconds, is_due=lambda: schedstate(is_due, 1.0)
    )


def ticked(task: str = SEND) -> Scheduler:
    """Return a scheduler that has just ticked the stage."""
    made = Scheduler(app, lazy=True)
    made.apply_entry(an_entry(task))
    return made


def test_a_stage_without_work_rests_until_the_next_look(world: World) -> None:
    beat = ticked()
    world.now += 5
    assert beat.is_due(an_entry(SEND)) == (False, 1.0)
    world.now += 0.75
    assert beat.is_due(an_entry(SEND)) == (False, 0.25)
    assert world.looks == 1


def test_work_is_found_at_the_next_look(world: World) -> None:
    beat = ticked()
    assert not beat.is_due(an_entry(SEND)).is_due
    world.without_work = set()
    world.now += 1
    assert beat.is_due(an_entry(SEND)).is_due


def test_no_stage_rests_for_long(world: World) -> None:
    beat = ticked()
    world.now += LONGEST_REST
    assert beat.is_due(an_entry(SEND)).is_due


def test_the_first_tick_asks_nobody(world: World) -> None:
    assert Scheduler(app, lazy=True).is_due(an_entry(SEND)).is_due
    assert world.looks == 0


def test_what_is_seldom_ticks_whether_it_has_work_or_not(world: World) -> None:
    assert ticked(REAP).is_due(an_entry(REAP)).is_due


def test_what_is_not_due_is_not_asked_for_its_work(world: World) -> None:
    assert ticked().is_due(an_entry(SEND, is_due=False)) == (False, 1.0)
    assert world.looks == 0


def test_while_the_database_is_away_every_stage_ticks(world: World) -> None:
    beat = ticked()
    world.without_work = OperationalError("the server is gone")
    assert beat.is_due(an_entry(SEND)).is_due


def a_producer(waiting: int | Exception) -> Any:
    def declare(*_: Any, **__: Any) -> Any:
        if isinstance(waiting, Exception):
            raise waiting
        return SimpleNamespace(message_count=waiting)

    return SimpleNamespace(channel=SimpleNamespace(queue_declare=declare))


@pytest.fixture(autouse=True)
def _keeps_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the connection: the tests' database lives in it."""
    monkeypatch.setattr(schedulers, "close_old_connections", lambda: None)


@pytest.fixture
def beat() -> Iterator[Scheduler]:
    made = Scheduler(app, lazy=True)
    yield made
    made._finalize.cancel()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    names: list[str] = []
    monkeypatch.setattr(Scheduler, "apply_async", lambda self, entry, **_: names.append(entry.name))
    return names


@pytest.mark.django_db
def test_a_last_run_in_the_future_counts_as_now_and_is_told(
    beat: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    """An hour's jump for fifteen seconds stopped every stage for an hour, even after a restart."""
    now = datetime.now(UTC)
    PeriodicTask.objects.filter(name=SEND).update(last_run_at=now + timedelta(hours=1))
    with caplog.at_level(logging.WARNING, "feedletter_site.ticks.scheduler"):
        beat.populate_heap()
    assert [message.split(" seconds")[0] for message in caplog.messages] == [f"{SEND} last ran 3599"]
    assert beat.schedule[SEND].last_run_at <= datetime.now(UTC)
    beat.sync()
    assert PeriodicTask.objects.get(name=SEND).last_run_at < now + timedelta(minutes=1)


@pytest.mark.django_db
@pytest.mark.parametrize("hours", [1, -1])
def test_beat_goes_on_when_its_clock_is_moved(
    beat: Scheduler,
    hours: int,
    sent: list[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Forward and back again: runs in between are in the future."""
    PeriodicTask.objects.exclude(name=REAP).update(enabled=False)
    moved = [0.0]
    monkeypatch.setattr(
        Scheduler.Entry, "_default_now", lambda self: datetime.now(UTC) + timedelta(hours=moved[0])
    )
    monkeypatch.setattr(app, "now", lambda: datetime.now(UTC) + timedelta(hours=moved[0]))
    monkeypatch.setattr(models, "now", lambda: datetime.now(UTC) + timedelta(hours=moved[0]))
    monkeypatch.setattr(Drift, "moved", lambda self: jumps.pop() if jumps else 0.0)
    monkeypatch.setattr(Scheduler, "producer", a_producer(0))
    jumps: list[float] = []
    ticks(beat)
    for offset in (hours, 0.0):
        jumps.append((offset - moved[0]) * 3600)
        moved[0] = offset
        ticks(beat)
        sent.clear()
        moved[0] += 20 / 3600
        ticks(beat)
        assert sent, "twenty seconds after the clock was moved"
    assert any("clock was moved by" in message for message in caplog.messages)


def ticks(beat: Scheduler) -> None:
    for _ in range(5):
        beat.tick()


def test_no_tick_is_added_to_many_that_wait(
    beat: Scheduler, sent: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "feedletter_site.ticks.scheduler"):
        for waiting in (MOST_WAITING, MOST_WAITING + 1, MOST_WAITING - 1):
            beat.apply_entry(an_entry(SEND), a_producer(waiting))
    assert sent == [SEND]
    assert caplog.messages == [f"{MOST_WAITING} ticks wait in the queue send: no worker takes them."]


def test_what_ticks_seldom_is_sent_all_the_same(beat: Scheduler, sent: list[str]) -> None:
    beat.apply_entry(an_entry(PRUNE, every=86_400), a_producer(1000))
    assert sent == [PRUNE]


def test_a_broker_that_does_not_say_how_many_wait_gets_the_tick(beat: Scheduler, sent: list[str]) -> None:
    beat.apply_entry(an_entry(SEND), a_producer(OSError()))
    assert sent == [SEND]


def test_a_broker_that_is_away_is_one_line_and_beat_goes_on(
    beat: Scheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ConnectionRefusedError("refused")

    monkeypatch.setattr(Scheduler, "apply_async", fail)
    with caplog.at_level(logging.WARNING):
        for _ in range(10):
            beat.apply_entry(an_entry(SEND), a_producer(0))
    assert caplog.messages == ["The broker accepts no tick: refused"]
    assert not caplog.records[0].exc_info


def test_a_broker_that_refuses_the_login_leaves_beat_running(
    beat: Scheduler, caplog: pytest.LogCaptureFixture
) -> None:
    class Refusing:
        connection_errors, channel_errors = (OSError,), (PermissionError,)

        def ensure_connection(self, *_: Any) -> None:
            raise PermissionError("wrong password")

    refusing = Refusing()
    beat.__dict__["connection"] = refusing
    assert beat._ensure_connected() is refusing
    assert caplog.messages == ["The broker accepts no tick: wrong password"]


@pytest.mark.django_db
def test_while_the_database_is_away_beat_goes_on_with_the_schedule_it_knows(
    beat: Scheduler, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    known = set(beat.schedule)

    def away(*_: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr(Scheduler, "enabled_models", away)
    monkeypatch.setattr(Scheduler, "schedule_changed", lambda self: True)
    with caplog.at_level(logging.WARNING, "feedletter_site.ticks.scheduler"):
        assert set(beat.schedule) == set(beat.schedule) == known
    assert caplog.messages == ["The database is unavailable, so beat keeps the schedule that it has: gone"]
