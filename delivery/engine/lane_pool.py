"""Connections of all lanes of a pass, within one limit."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue

from channels import channel
from common.clock import utcnow
from delivery.accounts.accounts import facts_of
from delivery.engine.async_senders import LoopSender, ProcessSender
from delivery.engine.child_client import ChildProcess, keep_child_process, take_child_process
from delivery.engine.child_protocol import Narrowed, Permit, Recall
from delivery.engine.claim import MOST_AT_ONCE, has_much
from delivery.engine.event_loop import LoopThread
from delivery.engine.send_task import Done, LaneSender
from delivery.engine.thread_sender import ThreadSender
from delivery.models import Lane
from delivery.rules.lanes import EXPECTED_RATE, claimable

# Over all lanes; a wider lane is cut to this.
MOST_OPEN_CONNECTIONS = 200
RATE_KNOWN_AFTER = 100


@dataclass(eq=False)
class PooledLane:
    """A lane's sender and workload. One thread counts claimed rows, another ended ones."""

    sender: LaneSender
    # Reports of servers that accepted fewer connections.
    narrowed: SimpleQueue[Narrowed]
    claimed: int = 0
    ended: int = 0
    opened_at: float = field(default_factory=time.monotonic)
    # Whether the last claim returned rows.
    more: bool = False

    @property
    def outstanding(self) -> int:
        return self.claimed - self.ended

    @property
    def rate(self) -> float:
        """Messages per second and connection, measured once there are enough."""
        seen = self.ended / max(time.monotonic() - self.opened_at, 0.001) / self.sender.width
        return max(seen, EXPECTED_RATE) if self.ended >= RATE_KNOWN_AFTER else EXPECTED_RATE

    @property
    def is_full(self) -> bool:
        """Whether there is more to do than a claim takes time."""
        most = min(claimable(self.sender.width, expected=self.rate) * 2 // 3, MOST_AT_ONCE)
        return self.outstanding > max(2 * self.sender.width, most)


class LanePool:
    def __init__(self, *, permit: Permit, done: Done, clock: Callable[[], datetime]) -> None:
        self._permit, self._done, self._clock = permit, done, clock
        self.lanes: dict[int, PooledLane] = {}
        self._leaving: list[PooledLane] = []
        self._loop: LoopThread | None = None
        self._process: ChildProcess | None = None

    @property
    def is_broken(self) -> bool:
        return self._process is not None and not self._process.is_alive

    def open(self, lane: Lane, width: int, now: datetime) -> PooledLane | None:
        """Return the lane's sender, or None while too many other connections are open."""
        known = self.lanes.get(lane.pk)
        if known is not None:
            known.sender.resize(max(width, 1))
            return known if width else None
        if not width:
            return None
        free = MOST_OPEN_CONNECTIONS - sum(other.sender.width for other in self.lanes.values())
        if free < width:
            # At once, or a pass with nothing in flight would end while this lane has something to send.
            free += self._close_idle()
        if free < width:
            return None
        made = self.lanes[lane.pk] = self._opened(lane, width, now)
        return made

    def tell(self) -> None:
        self._tell(self._permit)

    def recall(self, issues: frozenset[int]) -> None:
        self._tell(Recall(issues))

    def _tell(self, message: Permit | Recall) -> None:
        if self._process is not None:
            self._process.say(message)
        for lane in list(self.lanes.values()):
            lane.sender.sweep()

    def cut_off(self) -> None:
        """Do not wait for servers."""
        for lane in list(self.lanes.values()):
            lane.sender.cut_off()

    def close(self) -> None:
        """Wait a little for goodbyes. Nothing may be outstanding."""
        self._close_idle()
        for lane in self._leaving:
            lane.sender.join()
        if self._loop is not None:
            self._loop.close()
        if self._process is not None:
            keep_child_process(self._process)

    def _close_idle(self) -> int:
        idle = [(pk, lane) for pk, lane in list(self.lanes.items()) if not lane.outstanding]
        for pk, lane in idle:
            lane.sender.leave()
            self._leaving.append(self.lanes.pop(pk))
        return sum(lane.sender.width for _, lane in idle)

    def _opened(self, lane: Lane, width: int, now: datetime) -> PooledLane:
        """Use the child process if there is enough to send."""
        ours = channel(lane.kind)
        facts = facts_of(lane)
        narrowed: SimpleQueue[Narrowed] = SimpleQueue()
        done, permit, clock, on_narrow = self._done, self._permit, self._clock, narrowed.put
        sender: LaneSender
        open_session = ours.sessions(facts)
        if open_session is None:
            sender = ThreadSender(facts, ours, width, permit=permit, done=done, clock=clock)
        elif clock is utcnow and has_much(lane, now):
            if self._process is None:
                # Kept before use: a pass that finishes meanwhile has to notify it.
                self._process = take_child_process()
                self._process.begin_pass(permit)
            sender = ProcessSender(
                self._process, open_session, width, done=done, on_narrow=on_narrow, clock=clock
            )
        else:
            self._loop = self._loop or LoopThread()
            loop = self._loop.loop
            sender = LoopSender(
                loop, lane.pk, open_session, width,
                permit=permit, done=done, on_narrow=on_narrow, clock=clock,
            )  # fmt: skip
        return PooledLane(sender, narrowed)
