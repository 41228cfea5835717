"""The connections of all lanes that a pass sends through, within one bound."""

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from queue import Empty

from common import clock
from common.clock import utcnow
from delivery.accounts.accounts import url_of
from delivery.channels import channel
from delivery.channels.base import LaneFacts
from delivery.engine.async_senders import LoopSender, ProcessSender
from delivery.engine.child_client import LoopProcess, keep_loop_process, take_loop_process
from delivery.engine.event_loop import LoopThread
from delivery.engine.jobs import Done, Sender, SendTask
from delivery.engine.thread_sender import ThreadSender
from delivery.models import Lane
from delivery.rules.lanes import EXPECTED_RATE

# Over all lanes; a lane that is wider is cut to this.
MOST_CONNECTIONS = 200
# After so many messages a lane's rate is known.
SEEN = 100
LONGEST_GOODBYE = 10.0


@dataclass(eq=False)
class OpenLane:
    """A lane's carrier, and how much it has to do. One thread counts what is claimed, another what ended."""

    carrier: Sender
    claimed: int = 0
    ended: int = 0
    opened_at: float = field(default_factory=time.monotonic)
    # Whether the last claim brought anything, so that the next one may.
    more: bool = False

    @property
    def outstanding(self) -> int:
        """Claimed and not settled yet."""
        return self.claimed - self.ended

    @property
    def rate(self) -> float:
        """Messages that each connection sends in a second: what was seen, once there is enough of it."""
        seen = self.ended / max(time.monotonic() - self.opened_at, 0.001) / self.carrier.width
        return max(seen, EXPECTED_RATE) if self.ended >= SEEN else EXPECTED_RATE


class LanePool:
    """Opens carriers as lanes ask for them, and closes idle ones when there are too many."""

    def __init__(
        self,
        *,
        done: Done,
        may_begin: Callable[[SendTask], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._done, self._may_begin, self._clock = done, may_begin, clock
        self._lanes: dict[int, OpenLane] = {}
        self._leaving: list[OpenLane] = []
        self._loop: LoopThread | None = None
        self._process: LoopProcess | None = None

    @property
    def is_broken(self) -> bool:
        """Whether the loop process went: what it had has come back."""
        return self._process is not None and not self._process.is_alive

    def __getitem__(self, lane_id: int) -> OpenLane:
        return self._lanes[lane_id]

    def opened(self, lane_id: int) -> int:
        """How many of the lane's connections are open."""
        known = self._lanes.get(lane_id)
        return known.carrier.opened if known else 0

    def lanes(self) -> list[tuple[int, OpenLane]]:
        return list(self._lanes.items())

    def narrowed(self) -> dict[int, tuple[int, str]]:
        """Lanes whose server took fewer connections than it was asked for, since the last time: how many,
        and what it said to one more."""
        news: dict[int, tuple[int, str]] = {}
        for pk, lane in self.lanes():
            with suppress(Empty):
                while True:
                    news[pk] = lane.carrier.narrowed.get_nowait()
        return news

    def open(self, lane: Lane, width: int, *, is_much: Callable[[], bool]) -> OpenLane | None:
        """The lane's, with so many connections; None without any, and while too many others are open.

        `is_much`: whether there is so much to send that it is worth another process.
        """
        known = self._lanes.get(lane.pk)
        if known is not None:
            # (One goes on with what it was given before.)
            known.carrier.width = max(width, 1)
            known.carrier.put(())
            return known if width else None
        if not width:
            return None
        if not self._has_room(width):
            # (At once, or a pass with nothing in flight would end while this lane has something to send.)
            self._close_idle()
            if not self._has_room(width):
                return None
        made = self._lanes[lane.pk] = OpenLane(self._carrier(lane, width, is_much))
        return made

    def _has_room(self, width: int) -> bool:
        """Whether so many connections more may be opened."""
        open_ = sum(other.carrier.width for other in self._lanes.values())
        return open_ + width <= MOST_CONNECTIONS

    def _carrier(self, lane: Lane, width: int, is_much: Callable[[], bool]) -> Sender:
        ours = channel(lane.kind)
        facts = LaneFacts(lane.kind, lane.account, url_of(lane), lane.messages_per_connection)
        open_session = ours.pipelines(facts)
        shared = (self._done, self._may_begin, self._clock)
        if open_session is None:
            return ThreadSender(facts, ours, width, *shared)
        if self._clock is utcnow and is_much():
            process = self._far_process()
            return ProcessSender(process, lane.pk, open_session, width, self._done, self._clock)
        self._loop = self._loop or LoopThread()
        return LoopSender(open_session, self._loop.loop, width, *shared)

    def _far_process(self) -> LoopProcess:
        if self._process is None:
            self._process = take_loop_process()
            self._process.on_death = self._give_up
            self._process.say("pass", clock.since())
            self.renewed(time.monotonic(), ())
        return self._process

    def _give_up(self) -> None:
        for lane in (*self._lanes.values(), *self._leaving):
            if isinstance(lane.carrier, ProcessSender):
                lane.carrier.give_up()

    def renewed(self, at: float, lost: Iterable[SendTask]) -> None:
        """The leases were renewed at that moment (monotonic), but for those that we lost."""
        if self._process is not None:
            self._process.say("renewed", at, frozenset(task.pk for task in lost))

    def finish(self) -> None:
        """Nothing more is begun."""
        if self._process is not None:
            self._process.say("finish")

    def _close_idle(self) -> None:
        for pk, lane in self.lanes():
            if not lane.outstanding:
                lane.carrier.leave()
                self._leaving.append(self._lanes.pop(pk))

    def close(self) -> None:
        """Closes every session; nothing may be outstanding. Waits a little for those who say goodbye."""
        self._close_idle()
        for lane in self._leaving:
            lane.carrier.join(LONGEST_GOODBYE)
        if self._loop is not None:
            self._loop.close()
        if self._process is not None:
            keep_loop_process(self._process)
