"""What the claiming half hands over ends once, however quickly its carrier is."""

from collections.abc import Sequence
from queue import SimpleQueue

import pytest

from common.clock import utcnow
from delivery.engine.claimer import Claimer
from delivery.engine.jobs import Done, SendTask
from delivery.engine.lane_pool import LanePool, OpenLane
from tests.delivery.ledger import claimed, queued
from tests.factories import IssueFactory

pytestmark = pytest.mark.django_db


class Quick:
    """A carrier whose letters have ended before `put` returns."""

    opened = width = 1
    stopped = False

    def __init__(self, done: Done) -> None:
        self._done = done
        self.narrowed: SimpleQueue[tuple[int, str]] = SimpleQueue()

    def put(self, tasks: Sequence[SendTask]) -> None:
        for task in tasks:
            task.is_carried = False
        self._done.put(tasks)

    def settle(self, tasks: Sequence[SendTask]) -> None: ...

    def leave(self) -> None: ...

    def join(self, seconds: float) -> None: ...


def handed_over(*, is_finishing: bool = False) -> list[SendTask]:
    """What has ended after three tasks were handed over."""
    queued(3, issue=IssueFactory())
    done: Done = SimpleQueue()
    pool = LanePool(done=done, may_begin=lambda _: True, clock=utcnow)
    tasks = [SendTask(job) for job in claimed()]
    claimer = Claimer(
        pool=pool, in_flight=set(tasks), done=done, is_finishing=lambda: is_finishing, clock=utcnow
    )
    claimer._hand_over(OpenLane(Quick(done)), tasks)
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
