"""Each task from the claiming half ends once, however quick its sender is."""

from collections.abc import Sequence
from queue import SimpleQueue
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest

from common.clock import utcnow
from delivery.engine.child_protocol import Permit
from delivery.engine.claimer import RATE_KNOWN_AFTER, Claimer, LanePool, PooledLane
from delivery.engine.send_task import Done, SendTask
from delivery.rules.limits import EXPECTED_RATE
from tests.delivery.ledger import claimed, queued
from tests.factories import IssueFactory

pytestmark = pytest.mark.django_db


class Quick:
    """Sender whose letters have ended before `put` returns."""

    opened = width = 1
    stopped = False

    def __init__(self, done: Done) -> None:
        self._done = done

    def resize(self, width: int) -> None: ...

    def resume(self) -> None: ...

    def put(self, tasks: Sequence[SendTask]) -> None:
        for task in tasks:
            task.is_carried = False
        self._done.put(tasks)

    def settle(self, tasks: Sequence[SendTask]) -> None: ...

    def sweep(self) -> None: ...

    def cut_off(self) -> None: ...

    def leave(self) -> None: ...

    def join(self) -> None: ...


def handed_over(*, is_finishing: bool = False) -> list[SendTask]:
    """Hand over three tasks; return the ended ones."""
    queued(3, issue=IssueFactory())
    done: Done = SimpleQueue()
    permit = Permit(monotonic(), is_finishing=is_finishing)
    pool = LanePool(permit=permit, done=done, clock=utcnow)
    tasks = [SendTask(job) for job in claimed()]
    claimer = Claimer(pool=pool, permit=permit, in_flight=set(tasks), done=done, clock=utcnow)
    claimer._hand_over(PooledLane(Quick(done), SimpleQueue()), tasks)
    ended: list[SendTask] = []
    while not done.empty():
        ended += done.get()
    return ended


def test_each_ends_once() -> None:
    ended = handed_over()
    assert len(ended) == len(set(ended)) == 3


def test_what_is_not_made_any_more_comes_back_once() -> None:
    ended = handed_over(is_finishing=True)
    assert len(ended) == len(set(ended)) == 3
    assert {task.outcome for task in ended} == {None}


def pooled(ended: int, *, seconds: float, width: int) -> PooledLane:
    sender = cast(Any, SimpleNamespace(width=width))
    return PooledLane(sender, SimpleQueue(), ended=ended, opened_at=monotonic() - seconds)


def test_a_rate_is_of_one_connection_and_one_second() -> None:
    assert pooled(2_000, seconds=10, width=4).rate == pytest.approx(50, rel=0.1)


def test_until_enough_was_sent_and_when_it_goes_slowly_a_usual_rate_is_expected() -> None:
    assert pooled(RATE_KNOWN_AFTER - 1, seconds=0.001, width=1).rate == EXPECTED_RATE
    assert pooled(RATE_KNOWN_AFTER, seconds=3_600, width=1).rate == EXPECTED_RATE
