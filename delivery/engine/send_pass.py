"""Send pass: claim lane by lane, send outside transactions, record outcomes in groups."""

import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from queue import Empty, SimpleQueue

from django.db import connections

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from common.clock import utcnow
from common.db.outage import DB_ERRORS, note_outage, retry_until_stored
from common.passes import TimeBudget, note_progress
from common.shutdown import graceful_shutdown, stopping
from common.transactions import forbid_open_transaction
from delivery.bridges.corrections import take_corrections
from delivery.engine.child_client import end_idle_child_process
from delivery.engine.child_protocol import Permit
from delivery.engine.claim import SHORT_WAIT, give_back, reap_expired, renew
from delivery.engine.claimer import Claimer, LanePool
from delivery.engine.outcomes import hold_unrecorded, is_plain, record_accepted, record_outcomes
from delivery.engine.send_task import AcceptedTasks, Done, SendTask
from delivery.models import Delivery, Lane

log = logging.getLogger(__name__)
# Limited, as servers may add a unique number to each answer.
MOST_REASONS = 100
RENEW_EVERY = 15.0
# Leases that need no renewal yet: most messages are sent before the next.
YOUNG = timedelta(seconds=5)
# Most and least seconds between two claims.
CLAIM_EVERY = 0.25
CLAIM_REST = 0.01
# Seconds that a pass waits for messages under way before it ends. A server may take ten minutes.
DRAIN_SECONDS = 5.0
STOP_SECONDS = 20.0


def settle(tasks: Sequence[SendTask]) -> None:
    """Record outcomes and return what was not begun. Waits for the database as long as it takes."""
    if not tasks:
        return
    # Nearly always all were accepted by a healthy lane: then one statement is enough.
    are_plain = all(
        isinstance(task.outcome, Sent) and is_plain(task) and not task.delivery.lane.is_recovering
        for task in tasks
    )
    if are_plain and not retry_until_stored(partial(_failure, record_accepted, tasks)):
        return
    ended = [task for task in tasks if task.outcome is not None]
    unbegun = [task.delivery for task in tasks if task.outcome is None]
    failure = retry_until_stored(partial(_failure, record_outcomes, ended)) if ended else None
    if failure is not None:
        # One outcome that cannot be recorded must not hold up the others.
        for task in ended:
            if error := retry_until_stored(partial(_failure, record_outcomes, [task])):
                reason = f"What became of this could not be recorded: {error}"
                retry_until_stored(partial(hold_unrecorded, row=task.delivery, reason=reason))
    if unbegun:
        retry_until_stored(lambda: give_back(rows=unbegun))


def _failure(record: Callable[[Sequence[SendTask]], None], tasks: Sequence[SendTask]) -> Exception | None:
    """Return why they could not be recorded together. Raises when the database is unreachable."""
    try:
        record(tasks)
    except DB_ERRORS:
        raise
    except Exception as error:
        log.exception("outcomes could not be recorded", extra={"delivery": tasks[0].pk})
        return error
    return None


@dataclass
class SendReport:
    """`put_off`: deferred deliveries by lane and reason."""

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
            self.failed += not outcome.needless
        elif isinstance(outcome, Temporary | Ambiguous):
            self.deferred += 1
            reason = (lane.name, outcome.text)
            if reason in self.put_off or len(self.put_off) < MOST_REASONS:
                self.put_off[reason] += 1


def send_due(*, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None) -> SendReport:
    """Send until nothing can be claimed or the budget is spent, then finish what is in flight.

    Reaps first, so it needs no beat. Returns unbegun deliveries, also on SIGTERM and Ctrl-C. Slow servers do
    not hold up others.
    """
    forbid_open_transaction()
    with graceful_shutdown():
        return SendPass(clock, budget).run()


class SendPass:
    """Renews leases and records outcomes; a Claimer claims in another thread, LaneSenders send.

    Calls go one way: pass → claimer and pool → senders. Ended tasks return through the queue `done`. Only the
    pass changes `permit`, which all read.
    """

    def __init__(self, clock: Callable[[], datetime], budget: timedelta | None) -> None:
        self.clock = clock
        self.length, self.budget = budget, TimeBudget(budget)
        self.report = SendReport()
        self.done: Done = SimpleQueue()
        self.in_flight: set[SendTask] = set()
        self.permit = Permit(time.monotonic())
        self.pool = LanePool(permit=self.permit, done=self.done, clock=clock)
        self.claimer = Claimer(
            pool=self.pool, permit=self.permit, in_flight=self.in_flight, done=self.done, clock=clock
        )
        self.claimed_at = -CLAIM_EVERY
        self.claiming: Future[datetime | None] | None = None
        self.beside: ThreadPoolExecutor | None = None

    def run(self) -> SendReport:
        """Renew leases, claim, settle what ended and recall what was stopped, in turn."""
        try:
            with note_outage():
                self._begin()
                while not (stopping.is_set() or self.pool.is_broken):
                    if self.budget.is_spent:
                        if self._drained(DRAIN_SECONDS):
                            break
                        self._begin()
                    self._renew()
                    again_at = self._claim()
                    if self.in_flight or self.claiming is not None:
                        self._settle(wait=0.2)
                        continue
                    # Wait only for a lane that allows more within moments.
                    now = self.clock()
                    if again_at is None or again_at - now > SHORT_WAIT:
                        break
                    stopping.wait(max((again_at - now).total_seconds(), 0.01))
                    # A frozen clock (in a replay of the past) never gets there.
                    if again_at > now and self.clock() <= now:
                        break
        finally:
            self._finish()
        return self.report

    def _begin(self) -> None:
        note_progress()
        self.budget = TimeBudget(self.length)
        self.claimer.forget_letters()
        reap_expired(now=self.clock())
        take_corrections(now=self.clock())

    def _drained(self, seconds: float) -> bool:
        """Begin nothing for this many seconds. Return whether everything has ended."""
        self._set_finishing(True)
        end = time.monotonic() + seconds
        while self._is_busy and time.monotonic() < end and not stopping.is_set():
            self._renew()
            self._settle(wait=0.2)
        if self._is_busy and not stopping.is_set():
            self._set_finishing(False)
        return not self._is_busy

    def _set_finishing(self, is_finishing: bool) -> None:
        self.permit.is_finishing = is_finishing
        self.pool.tell()

    @property
    def _is_busy(self) -> bool:
        # Check `claiming` first: until it is done, it may add to `in_flight`.
        return (self.claiming is not None and not self.claiming.done()) or bool(self.in_flight)

    def _claim(self) -> datetime | None:
        """Refill lanes that run low. Return when to claim again, if a lane said so.

        With nothing to record it runs here, which saves an idle pass the other thread.
        """
        if self.claiming is not None:
            if not self.claiming.done():
                return None
            claimed, self.claiming = self.claiming, None
            again_at = claimed.result()
            # The result may be outdated: with nothing in flight, it must not end the pass.
            if self.in_flight:
                return again_at
        if self.in_flight:
            # Do not keep a lane waiting that had more and has nearly finished.
            lanes = list(self.pool.lanes.values())
            runs_low = any(lane.more and not lane.is_full for lane in lanes)
            if time.monotonic() - self.claimed_at < (CLAIM_REST if runs_low else CLAIM_EVERY):
                return None
        self.claimed_at = time.monotonic()
        if not self.in_flight:
            return self.claimer.look()
        self.beside = self.beside or ThreadPoolExecutor(1, thread_name_prefix="claim")
        self.claiming = self.beside.submit(self.claimer.look)
        self.claiming.add_done_callback(lambda _: self.done.put(()))
        return None

    def _renew(self) -> None:
        started = time.monotonic()
        if self.in_flight and started - self.permit.renewed_at < RENEW_EVERY:
            return
        # A copy: the other thread may be adding to it.
        claimed_by = self.clock() - YOUNG
        rows = [task.delivery for task in list(self.in_flight) if task.delivery.claimed_at <= claimed_by]
        if rows:
            tokens = {row.token for row in rows}
            ours = retry_until_stored(lambda: renew(tokens=tokens, now=self.clock()))
            self.permit.lost = frozenset(row.pk for row in rows if (row.pk, row.token) not in ours)
        self.permit.renewed_at = started
        self.pool.tell()

    def _settle(self, wait: float) -> None:
        """Record ended tasks in one transaction, then let their connections continue."""
        tasks: list[SendTask] = []
        with suppress(Empty):
            ended = self.done.get(timeout=wait)
            while True:
                if isinstance(ended, AcceptedTasks):
                    self._count_accepted(ended)
                else:
                    tasks += ended
                ended = self.done.get_nowait()
        if not tasks:
            return
        settle(tasks)
        # Before the connections continue.
        self._recall({task.issue for task in tasks if task.recalled and isinstance(task.outcome, Sent)})
        by_lane: dict[int, list[SendTask]] = {}
        for task in tasks:
            if task.outcome is not None:
                self.report.count(task.outcome, task.delivery.lane)
            by_lane.setdefault(task.delivery.lane.pk, []).append(task)
        self.in_flight.difference_update(tasks)
        for lane_id, ended in by_lane.items():
            lane = self.pool.lanes[lane_id]
            lane.ended += len(ended)
            lane.sender.settle([task for task in ended if task.is_carried])

    def _count_accepted(self, tasks: AcceptedTasks) -> None:
        self.report.sent += len(tasks)
        self.in_flight.difference_update(tasks)
        self.pool.lanes[tasks[0].delivery.lane.pk].ended += len(tasks)
        self._recall(tasks.recalled)

    def _recall(self, issues: Set[int | None]) -> None:
        if stopped := frozenset(issue for issue in issues if issue is not None):
            for task in list(self.in_flight):
                task.recalled |= task.issue in stopped
            self.pool.recall(stopped)

    def _finish(self) -> None:
        self._set_finishing(True)
        cut_off_at = None
        while self._is_busy:
            note_progress()
            self._renew()
            self._settle(wait=1.0)
            if stopping.is_set() and self._is_busy:
                cut_off_at = cut_off_at or time.monotonic() + STOP_SECONDS
                if time.monotonic() >= cut_off_at:
                    self.pool.cut_off()
        self.claimer.narrow()
        self.pool.close()
        if self.beside is not None:
            self.beside.submit(connections.close_all)
            self.beside.shutdown()
        self.claimer.close()
        end_idle_child_process()


@dataclass(frozen=True, slots=True)
class Wait:
    """`until`: the lane rests; without it each letter has its own time."""

    lane: str
    letters: int
    why: str
    until: datetime | None = None


def resting(now: datetime) -> list[Wait]:
    lanes = Lane.objects.filter(failures__gt=0, free_at__gt=now, paused=False)
    found = []
    for lane in lanes.order_by("pk"):
        letters = Delivery.objects.waiting().filter(lane=lane).count()
        if letters:
            found.append(Wait(lane.name, letters, lane.last_error, lane.free_at))
    return found


def letters_put_off(report: SendReport, rests: Sequence[Wait]) -> list[Wait]:
    """Leave out resting lanes; most first."""
    told = {(wait.lane, wait.why) for wait in rests}
    reasons = report.put_off.most_common()
    return [Wait(lane, letters, why) for (lane, why), letters in reasons if (lane, why) not in told]
