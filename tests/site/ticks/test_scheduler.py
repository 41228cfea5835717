"""Beat ticks the stages that have work, and now and then each of the others."""

from types import SimpleNamespace
from typing import Any

import pytest
from celery.schedules import schedstate
from django.db import OperationalError

from feedletter_site.celery import app
from feedletter_site.ticks import scheduler
from feedletter_site.ticks.scheduler import LONGEST_REST, Scheduler

SEND, REAP = "delivery.send", "delivery.reap"


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


def an_entry(task: str, *, is_due: bool = True) -> Any:
    return SimpleNamespace(name=task, task=task, is_due=lambda: schedstate(is_due, 1.0))


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
