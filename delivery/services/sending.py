"""A send pass: claims lane by lane, sends without a transaction, records outcomes in groups."""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from common.clock import utcnow
from common.transactions import forbid_open_transaction
from delivery.channels import channel
from delivery.channels.base import Ambiguous, LaneFacts, Outcome, Permanent, Sent, Temporary
from delivery.models import Lane
from delivery.services.claiming import Job, claim, give_back, lanes_with_due, renew
from delivery.services.connections import Connections, Task
from delivery.services.letters import Letters, recipient
from delivery.services.notices import take_notices
from delivery.services.reaping import reap
from delivery.services.recording import Result, record

log = logging.getLogger(__name__)
T = TypeVar("T")

RENEW_EVERY = 15.0
# A message is begun only when the lease was renewed this many seconds ago at most.
FRESH = 20.0
LOOK_EVERY = 0.25
# After the database was lost, other workers' leases may be overdue only because of that.
NO_REAPING_AFTER_LOSS = 60.0
SHORT_WAIT = timedelta(seconds=2)

_database_lost_at = -NO_REAPING_AFTER_LOSS
stopping = threading.Event()


@dataclass
class SendReport:
    """How many of each a pass brought about."""

    sent: int = 0
    stored: int = 0
    failed: int = 0
    deferred: int = 0

    def count(self, outcome: Outcome) -> None:
        if isinstance(outcome, Sent):
            self.stored += bool(outcome.stored)
            self.sent += not outcome.stored
        elif isinstance(outcome, Permanent):
            self.failed += 1
        elif isinstance(outcome, Temporary | Ambiguous):
            self.deferred += 1


def send_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> SendReport:
    """Sends until nothing may be claimed, or the budget is spent; then finishes what is in flight.

    Begins by reaping, so that it needs no beat. What was claimed and not begun is given back.
    """
    forbid_open_transaction()
    return SendPass(clock, budget).run()


class SendPass:
    """One pass. All database work is done by the thread that runs it; the connections only send."""

    def __init__(self, clock: Callable[[], datetime], budget: timedelta | None) -> None:
        self.clock = clock
        self.stop_at = time.monotonic() + budget.total_seconds() if budget else None
        self.report = SendReport()
        self.letters = Letters()
        self.done: SimpleQueue[Task] = SimpleQueue()
        self.lanes: dict[int, Connections] = {}
        self.in_flight: dict[int, Task] = {}
        self.lost: frozenset[int] = frozenset()
        self.renewed_at = time.monotonic()
        self.looked_at = -LOOK_EVERY
        self.finishing = False

    def run(self) -> SendReport:
        try:
            if time.monotonic() - _database_lost_at >= NO_REAPING_AFTER_LOSS:
                reap(now=self.clock())
            while self._step():
                pass
        finally:
            self._finish()
        return self.report

    def _step(self) -> bool:
        """Renews, claims, records. False when there is nothing to do any more."""
        self._renew()
        again_at = self._claim() if self._may_claim() else None
        if not self.in_flight:
            return self._wait_for(again_at)
        self._record(wait=0.2)
        return True

    def _may_claim(self) -> bool:
        return not stopping.is_set() and (self.stop_at is None or time.monotonic() < self.stop_at)

    def _wait_for(self, again_at: datetime | None) -> bool:
        """A lane that allows more within moments is waited for; otherwise the pass is over."""
        wait = again_at - self.clock() if again_at is not None else None
        if wait is None or wait > SHORT_WAIT or not self._may_claim():
            return False
        time.sleep(max(wait.total_seconds(), 0.01))
        return True

    def _claim(self) -> datetime | None:
        """Tops up every lane that runs low. Returns when a lane with nothing in flight allows more."""
        hungry = any(lane.outstanding <= 1 for lane in self.lanes.values()) or not self.in_flight
        if not hungry and time.monotonic() - self.looked_at < LOOK_EVERY:
            return None
        self.looked_at = time.monotonic()
        now = self.clock()
        take_notices(now=now)
        waits = [wait for lane in lanes_with_due(now) if (wait := self._claim_from(lane, now))]
        return min(waits, default=None)

    def _claim_from(self, lane: Lane, now: datetime) -> datetime | None:
        connections = self.lanes.get(lane.pk) or self._open(lane)
        if connections.outstanding > lane.concurrency * 2:
            return None
        claimed = claim(lane_id=lane.pk, now=now, in_flight=connections.outstanding)
        connections.stopped &= not claimed.jobs
        for job in claimed.jobs:
            self._start(connections, job, now)
        return claimed.again_at

    def _open(self, lane: Lane) -> Connections:
        self.lanes[lane.pk] = Connections(
            LaneFacts(lane.kind, lane.account),
            channel(lane.kind),
            width=1 if lane.serial else lane.concurrency,
            done=self.done,
            may_begin=self._may_begin,
            clock=self.clock,
        )
        return self.lanes[lane.pk]

    def _start(self, connections: Connections, job: Job, now: datetime) -> None:
        try:
            task = Task(job, self.letters.letter(job.row, now=now), recipient(job.row))
        except Exception as error:  # a poisoned letter or recipient stops nobody else
            log.exception("a letter cannot be made", extra={"delivery": job.pk})
            record(results=[Result(job, Temporary(f"The letter cannot be made: {error}"), now)])
            self.report.deferred += 1
            return
        self.in_flight[job.pk] = task
        connections.put(task)

    def _may_begin(self, job: Job) -> bool:
        fresh = time.monotonic() - self.renewed_at < FRESH
        return fresh and job.pk not in self.lost and not self.finishing and not stopping.is_set()

    def _renew(self) -> None:
        if not self.in_flight or time.monotonic() - self.renewed_at < RENEW_EVERY:
            if not self.in_flight:
                self.renewed_at = time.monotonic()
            return
        started = time.monotonic()
        tokens = {task.job.token for task in self.in_flight.values()}
        ours = _durably(lambda: renew(tokens=tokens, now=self.clock()))
        self.lost = frozenset(self.in_flight.keys() - ours)
        self.renewed_at = started

    def _record(self, wait: float) -> None:
        """Writes whatever outcomes have gathered in one transaction, then lets their connections go on."""
        tasks = self._gathered(wait)
        results = [
            Result(
                task.job,
                task.outcome,
                task.at or self.clock(),
                channel(task.job.row.lane.kind).crash_policy.value,
            )
            for task in tasks
            if task.outcome is not None
        ]
        unbegun = [task.job for task in tasks if task.outcome is None]
        if results:
            _durably(lambda: record(results=results))
        if unbegun:
            _durably(lambda: give_back(jobs=unbegun))
        for task in tasks:
            self._settle(task)

    def _gathered(self, wait: float) -> list[Task]:
        tasks = []
        try:
            tasks.append(self.done.get(timeout=wait))
            while True:
                tasks.append(self.done.get_nowait())
        except Empty:
            return tasks

    def _settle(self, task: Task) -> None:
        if task.outcome is not None:
            self.report.count(task.outcome)
        del self.in_flight[task.job.pk]
        self.lanes[task.job.row.lane_id].outstanding -= 1
        task.settled.set()

    def _finish(self) -> None:
        """Ends the pass: in-flight messages are finished, the rest goes back."""
        self.finishing = True
        while self.in_flight:
            self._renew()
            self._record(wait=1.0)
        for lane in self.lanes.values():
            lane.close()


def _durably(write: Callable[[], T]) -> T:
    """Runs the write until the database takes it: outcomes stay in memory while it is away."""
    global _database_lost_at
    pause = 0.1
    while True:
        try:
            return write()
        except (OperationalError, InterfaceError):
            log.warning("the database is away; outcomes are kept and written when it is back")
            _database_lost_at = time.monotonic()
            connection.close()
            time.sleep(pause)
            pause = min(pause * 2, 5.0)
