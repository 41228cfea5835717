"""A send pass: claims lane by lane, sends without a transaction, records outcomes in groups."""

import logging
import time
from collections import deque
from collections.abc import Callable
from datetime import datetime, timedelta
from queue import SimpleQueue

from common.clock import utcnow
from common.transactions import forbid_open_transaction
from delivery.channels.base import Permanent, Temporary
from delivery.models import Lane
from delivery.services.claiming import ISSUE_PRIORITY, SHORT_WAIT, claim, has_urgent, lanes_with_due
from delivery.services.connections import Connections, Task
from delivery.services.database import AWAY, durably, noticing_loss
from delivery.services.leases import renew
from delivery.services.letters import Letters, recipient
from delivery.services.notices import take_notices
from delivery.services.pool import Pool
from delivery.services.reaping import reap
from delivery.services.report import SendReport
from delivery.services.samples import NothingToShow
from delivery.services.settling import gathered, settle
from delivery.services.stopping import heeding_signals, stopping

log = logging.getLogger(__name__)

RENEW_EVERY = 15.0
# A message is begun only when the lease was renewed this many seconds ago at most.
FRESH = 20.0
LOOK_EVERY = 0.25
# Letters are made for so long at a time, then outcomes are looked after.
SLICE = 0.05


def send_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> SendReport:
    """Sends until nothing may be claimed, or the budget is spent; then finishes what is in flight.

    Begins by reaping, so that it needs no beat. What was claimed and not begun is given back; so it is on
    TERM and Ctrl-C.
    """
    forbid_open_transaction()
    with heeding_signals():
        return SendPass(clock, budget).run()


class SendPass:
    """One pass. All database work is done by the thread that runs it; the connections only send."""

    def __init__(self, clock: Callable[[], datetime], budget: timedelta | None) -> None:
        self.clock = clock
        self.stop_at = time.monotonic() + budget.total_seconds() if budget else None
        self.report = SendReport()
        self.letters = Letters()
        self.done: SimpleQueue[Task] = SimpleQueue()
        self.pool = Pool(done=self.done, may_begin=self._may_begin, clock=clock)
        self.in_flight: set[Task] = set()
        # Those of them whose letters are still to be made.
        self.waiting: deque[Task] = deque()
        self.lost: set[Task] = set()
        self.renewed_at = time.monotonic()
        self.looked_at = -LOOK_EVERY
        self.finishing = False

    def run(self) -> SendReport:
        try:
            with noticing_loss():
                reap(now=self.clock())
                while self._step():
                    pass
        finally:
            self._finish()
        return self.report

    def _step(self) -> bool:
        """Renews, claims, hands over, records. False when the pass is over."""
        if not self._may_go_on():
            return False
        self._renew()
        again_at = self._claim()
        self._hand_over()
        if not self.in_flight:
            return self._wait_for(again_at)
        self._settle(wait=0.0 if self.waiting else 0.2)
        return True

    def _may_go_on(self) -> bool:
        return not stopping.is_set() and (self.stop_at is None or time.monotonic() < self.stop_at)

    def _wait_for(self, again_at: datetime | None) -> bool:
        """A lane that allows more within moments is waited for; otherwise the pass is over."""
        now = self.clock()
        if again_at is None or again_at - now > SHORT_WAIT:
            return False
        stopping.wait(max((again_at - now).total_seconds(), 0.01))
        # A clock that stands still (when the past is replayed) never gets there.
        return again_at <= now or self.clock() > now

    def _claim(self) -> datetime | None:
        """Tops up every lane that runs low. Returns when to ask again, if a lane said so."""
        hungry = not self.in_flight or self.pool.runs_low
        if not hungry and time.monotonic() - self.looked_at < LOOK_EVERY:
            return None
        self.looked_at = time.monotonic()
        now = self.clock()
        take_notices(now=now)
        waits = [wait for lane in lanes_with_due(now) if (wait := self._claim_from(lane, now))]
        return min(waits, default=None)

    def _claim_from(self, lane: Lane, now: datetime) -> datetime | None:
        try:
            connections = self.pool.connections(lane)
            return self._top_up(connections, lane, now) if connections else None
        except AWAY:
            raise
        except Exception:  # a lane that cannot be claimed from stops no other
            log.exception("claiming failed", extra={"lane": lane.pk})
            return None

    def _top_up(self, connections: Connections, lane: Lane, now: datetime) -> datetime | None:
        full = connections.outstanding > 2 * connections.width
        # A lane that stopped is asked again when all that it had is settled, and its rest is known.
        if (connections.stopped and connections.outstanding) or (full and not has_urgent(lane, now)):
            return None
        connections.stopped = False
        in_flight = self._urgent_in_flight(lane) if full else connections.outstanding
        claimed = claim(lane_id=lane.pk, now=now, in_flight=in_flight, urgent=full)
        tasks = [Task(job) for job in claimed.jobs]
        connections.more = bool(tasks)
        connections.outstanding += len(tasks)
        self.in_flight.update(tasks)
        self.waiting.extend(tasks)
        return claimed.again_at

    def _urgent_in_flight(self, lane: Lane) -> int:
        rows = (task.job.row for task in self.in_flight)
        return sum(row.lane_id == lane.pk and row.priority < ISSUE_PRIORITY for row in rows)

    def _hand_over(self) -> None:
        """Makes letters, for a moment: leases have to be renewed and outcomes recorded in between."""
        until = time.monotonic() + SLICE
        while self.waiting and time.monotonic() < until:
            self._start(self.waiting.popleft())

    def _start(self, task: Task) -> None:
        row = task.job.row
        try:
            letter, to = self.letters.letter(row, now=self.clock()), recipient(row)
            self.pool[row.lane_id].put(task, letter, to)
            return
        except AWAY:
            self.done.put(task)
            raise
        except NothingToShow as error:
            task.outcome = Permanent(str(error))
        except Exception as error:  # a poisoned letter or recipient stops nobody else
            log.exception("a letter cannot be made", extra={"delivery": row.pk})
            task.outcome = Temporary(f"The letter cannot be made: {error}")
        self.done.put(task)

    def _may_begin(self, task: Task) -> bool:
        fresh = time.monotonic() - self.renewed_at < FRESH
        return fresh and task not in self.lost and not self.finishing and not stopping.is_set()

    def _renew(self) -> None:
        started = time.monotonic()
        if self.in_flight and started - self.renewed_at < RENEW_EVERY:
            return
        if self.in_flight:
            tokens = {task.job.token for task in self.in_flight}
            ours = durably(lambda: renew(tokens=tokens, now=self.clock()))
            self.lost = {task for task in self.in_flight if (task.job.pk, task.job.token) not in ours}
        self.renewed_at = started

    def _settle(self, wait: float) -> None:
        """Makes whatever has ended durable in one transaction, then lets the connections go on."""
        tasks = gathered(self.done, wait)
        settle(tasks, clock=self.clock)
        for task in tasks:
            if task.outcome is not None:
                self.report.count(task.outcome)
            self.in_flight.remove(task)
            self.pool[task.job.row.lane_id].outstanding -= 1
            task.settled.set()

    def _finish(self) -> None:
        """Ends the pass: messages in flight are finished, the rest goes back."""
        self.finishing = True
        while self.waiting:
            self.done.put(self.waiting.popleft())
        while self.in_flight:
            self._renew()
            self._settle(wait=1.0)
        self.pool.close()
