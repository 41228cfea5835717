"""A send pass: claims lane by lane, sends without a transaction, records outcomes in groups. And
its report.
"""

import logging
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import SimpleQueue

from django.db import connections

from common.clock import utcnow
from common.db.outage import note_outage, retry_until_stored
from common.passes import TimeBudget
from common.shutdown import graceful_shutdown, stopping
from common.transactions import forbid_open_transaction
from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from delivery.engine.async_connections import FRESH
from delivery.engine.child_client import end_idle_loop_process
from delivery.engine.claim import SHORT_WAIT
from delivery.engine.claimer import Claimer
from delivery.engine.jobs import Done, SendTask
from delivery.engine.lane_pool import LanePool
from delivery.engine.leases import reap, renew
from delivery.engine.settle import gathered, settle
from delivery.models import Lane

# Different reasons that are kept. (Servers may put a number of their own into each answer.)
MOST_REASONS = 100
RENEW_EVERY = 15.0
# Seconds between two looks for what is due: at most, and at least.
LOOK_EVERY = 0.25
REST = 0.01


@dataclass
class SendReport:
    """How many of each a pass brought about. `put_off`: how many were deferred, by lane and reason."""

    sent: int = 0
    stored: int = 0
    failed: int = 0
    deferred: int = 0
    put_off: Counter[tuple[str, str]] = field(default_factory=Counter)

    def count(self, outcome: Outcome, lane: Lane) -> None:
        if isinstance(outcome, Sent):
            self.stored += outcome.stored is not None
            self.sent += outcome.stored is None
        elif isinstance(outcome, Permanent):
            self.failed += 1
        elif isinstance(outcome, Temporary | Ambiguous):
            self.deferred += 1
            reason = (lane.name, outcome.text)
            if reason in self.put_off or len(self.put_off) < MOST_REASONS:
                self.put_off[reason] += 1


log = logging.getLogger(__name__)


def send_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> SendReport:
    """Sends until nothing may be claimed, or the budget is spent; then finishes what is in flight.

    Begins by reaping, so that it needs no beat. What was claimed and not begun is given back; so it is on
    TERM and Ctrl-C.
    """
    forbid_open_transaction()
    with graceful_shutdown():
        return SendPass(clock, budget).run()


class SendPass:
    """One pass. The thread that runs it renews, and records what the loop process does not; another one
    claims meanwhile (Claimer); the connections (Sender) send."""

    def __init__(self, clock: Callable[[], datetime], budget: timedelta | None) -> None:
        self.clock = clock
        self.budget = TimeBudget(budget)
        self.report = SendReport()
        self.done: Done = SimpleQueue()
        self.in_flight: set[SendTask] = set()
        self.lost: set[SendTask] = set()
        self.pool = LanePool(done=self.done, may_begin=self._may_begin, clock=clock)
        self.claimer = Claimer(
            pool=self.pool,
            in_flight=self.in_flight,
            done=self.done,
            is_finishing=lambda: self.finishing or stopping.is_set(),
            clock=clock,
        )
        self.renewed_at = time.monotonic()
        self.looked_at = -LOOK_EVERY
        self.looking: Future[datetime | None] | None = None
        self.beside: ThreadPoolExecutor | None = None
        self.finishing = False

    def run(self) -> SendReport:
        try:
            with note_outage():
                reap(now=self.clock())
                while self._step():
                    pass
        finally:
            self._finish()
        return self.report

    def _step(self) -> bool:
        """Renews, claims, records. False when the pass is over."""
        if not self._may_go_on():
            return False
        self._renew()
        again_at = self._look()
        if not self.in_flight and self.looking is None:
            return self._wait_for(again_at)
        self._settle(wait=0.2)
        return True

    def _may_go_on(self) -> bool:
        if stopping.is_set() or self.pool.is_broken:
            return False
        return not self.budget.is_spent

    def _wait_for(self, again_at: datetime | None) -> bool:
        """A lane that allows more within moments is waited for; otherwise the pass is over."""
        now = self.clock()
        if again_at is None or again_at - now > SHORT_WAIT:
            return False
        stopping.wait(max((again_at - now).total_seconds(), 0.01))
        # A clock that stands still (when the past is replayed) never gets there.
        return again_at <= now or self.clock() > now

    def _look(self) -> datetime | None:
        """Has lanes topped up that run low. Returns when to ask again, if a lane said so.

        With nothing to record meanwhile it is done here, which spares an idle pass the other thread.
        """
        if self.looking is not None:
            if not self.looking.done():
                return None
            looked, self.looking = self.looking, None
            again_at = looked.result()
            # (What it saw may be past: with nothing in flight any more, the pass must not end by it.)
            if self.in_flight:
                return again_at
        since = time.monotonic() - self.looked_at
        if self.in_flight and since < (REST if self.claimer.runs_low else LOOK_EVERY):
            return None
        self.looked_at = time.monotonic()
        if not self.in_flight:
            return self.claimer.look()
        self.beside = self.beside or ThreadPoolExecutor(1, thread_name_prefix="claim")
        self.looking = self.beside.submit(self.claimer.look)
        self.looking.add_done_callback(lambda _: self.done.put(()))
        return None

    def _may_begin(self, task: SendTask) -> bool:
        fresh = time.monotonic() - self.renewed_at < FRESH
        return fresh and task not in self.lost and not self.finishing and not stopping.is_set()

    def _renew(self) -> None:
        started = time.monotonic()
        if self.in_flight and started - self.renewed_at < RENEW_EVERY:
            return
        # (The other thread may be adding to it.)
        tasks = list(self.in_flight)
        if tasks:
            tokens = {task.job.token for task in tasks}
            ours = retry_until_stored(lambda: renew(tokens=tokens, now=self.clock()))
            self.lost = {task for task in tasks if (task.job.pk, task.job.token) not in ours}
        self.renewed_at = started
        self.pool.renewed(started, self.lost)

    def _settle(self, wait: float) -> None:
        """Makes whatever has ended durable in one transaction, then lets the connections go on."""
        tasks = gathered(self.done, wait)
        if not tasks:
            return
        settle([task for task in tasks if not task.is_recorded], clock=self.clock)
        carried: dict[int, list[SendTask]] = {}
        for task in tasks:
            if task.outcome is not None:
                self.report.count(task.outcome, task.job.row.lane)
            carried.setdefault(task.job.row.lane.pk, []).append(task)
        self.in_flight.difference_update(tasks)
        for lane_id, ended in carried.items():
            lane = self.pool[lane_id]
            lane.ended += len(ended)
            lane.carrier.settle([task for task in ended if task.is_carried])

    def _finish(self) -> None:
        """Ends the pass: messages in flight are finished, the rest goes back."""
        self.finishing = True
        self.pool.finish()
        # (In this order: what a look has claimed is in flight before it is done.)
        while (self.looking is not None and not self.looking.done()) or self.in_flight:
            self._renew()
            self._settle(wait=1.0)
        self.claimer.narrow()
        self.pool.close()
        if self.beside is not None:
            self.beside.submit(connections.close_all)
            self.beside.shutdown()
        self.claimer.close()
        end_idle_loop_process()
