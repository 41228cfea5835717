"""The connections of lanes, in a process or thread of their own. Imports no Django.

Busy lanes have the child process, so that claiming and recording never delay the network. It ends
when the worker's socket closes; each connection has then begun one message at most.
It records acceptances itself, as recording in the worker took longer than the rest of a letter. Other
outcomes, and failures to record, go to the worker.
"""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, assert_never

import uvloop

from channels.base import Sent
from channels.email.mail_message import MailMessage
from common.child_process import FrameReader
from common.clock import take_over, utcnow
from delivery.engine.async_connections import AsyncConnections
from delivery.engine.child_protocol import (
    BeginPass,
    ChildTask,
    Closed,
    CloseLane,
    CutOff,
    Ended,
    FromChild,
    MailRow,
    OpenLane,
    Permit,
    Put,
    Recall,
    Recorded,
    ResizeLane,
    ResumeLane,
    Settled,
    ToChild,
    frame,
    unpacked,
)

if TYPE_CHECKING:
    from delivery.engine.recorder import Recorder

# Seconds.
TELL_AFTER = 0.02
# With Python's 5 ms, recording would wait that long whenever claiming computes.
SWITCH_INTERVAL = 0.0005
log = logging.getLogger(__name__)


@dataclass(eq=False, slots=True)
class ChildLane:
    """A lane's connections and tasks by number.

    `recorded` counts acceptances to report to the worker, with the `recalled` issues.
    """

    connections: AsyncConnections
    unsettled: dict[int, ChildTask] = field(default_factory=dict)
    recorded: list[int] = field(default_factory=list)
    recalled: set[int] = field(default_factory=set)


class Child:
    """`say` tells the worker what happened."""

    def __init__(self, say: Callable[[FromChild], object], clock: Callable[[], datetime] = utcnow) -> None:
        self._say, self._clock = say, clock
        # Nothing begins before the worker's first permit.
        self._permit = Permit(renewed_at=float("-inf"))
        self._lanes: dict[int, ChildLane] = {}
        self._recorder: Recorder | None = None
        self._telling: asyncio.TimerHandle | None = None
        self._closing: set[asyncio.Task[None]] = set()

    def hear(self, message: ToChild) -> None:
        match message:
            case Put(lane, mails):
                self._put(lane, mails)
            case Settled(lane, numbers):
                ours = self._lanes[lane]
                ours.connections.release([ours.unsettled.pop(number) for number in numbers])
            case Permit():
                self._permit.renewed_at, self._permit.lost = message.renewed_at, message.lost
                self._permit.is_finishing = message.is_finishing
                for ours in self._lanes.values():
                    ours.connections.sweep()
            case Recall(issues):
                self._recall(issues)
            case CutOff(lane):
                self._lanes[lane].connections.cut_off()
            case BeginPass(clock_since, database):
                take_over(clock_since)
                if database and self._recorder is None:
                    # Not at the top: a thread never records, and needs no driver.
                    from delivery.engine.recorder import Recorder

                    self._recorder = Recorder(database, self._end)
            case OpenLane(lane, open_session, width):
                self._lanes[lane] = ChildLane(
                    AsyncConnections(
                        lane,
                        open_session,
                        width,
                        permit=self._permit,
                        on_end=self._sort,
                        on_narrow=self._say,
                        clock=self._clock,
                    )
                )
            case ResizeLane(lane, width):
                self._lanes[lane].connections.set_width(width)
                self._lanes[lane].connections.take(())
            case ResumeLane(lane):
                self._lanes[lane].connections.stopped = False
            case CloseLane(lane, seconds):
                closing = asyncio.get_running_loop().create_task(self._close(lane, seconds))
                self._closing.add(closing)
                closing.add_done_callback(self._closing.discard)
            case _:
                assert_never(message)

    def _put(self, lane: int, mails: Sequence[MailRow]) -> None:
        ours = self._lanes[lane]
        tasks = []
        for number, pk, priority, token, sender, to, pieces, has_dots, is_dated, issue in mails:
            mail = MailMessage(sender, to, "", pieces, (), has_dots, is_dated)
            task = ours.unsettled[number] = ChildTask(lane, number, pk, priority, token, mail, issue=issue)
            tasks.append(task)
        ours.connections.take(tasks)

    def _recall(self, issues: Set[int]) -> None:
        for ours in self._lanes.values():
            for task in ours.unsettled.values():
                if task.issue in issues:
                    task.recalled = True
            ours.connections.sweep()

    async def _close(self, lane: int, seconds: float) -> None:
        connections = self._lanes[lane].connections
        connections.leave()
        await connections.all_closed(seconds)
        self._say_recorded()
        del self._lanes[lane]
        self._say(Closed(lane))
        if not self._lanes and self._recorder is not None:
            self._recorder.close()

    def _sort(self, tasks: Sequence[ChildTask]) -> None:
        # They ended within a millisecond, so one time serves all.
        now = self._clock()
        for task in tasks:
            task.at = now
        accepted: list[ChildTask] = []
        others: list[ChildTask] = []
        for task in tasks:
            is_ours = task.token and isinstance(task.outcome, Sent) and task.outcome.stored is None
            (accepted if is_ours and self._recorder else others).append(task)
        if self._recorder and accepted:
            self._recorder.take(accepted)
        if others:
            self._say_ended(others)

    def _end(self, tasks: Sequence[ChildTask], is_durable: bool) -> None:
        # Before their connections continue.
        if recalled := {task.issue for task in tasks if task.recalled and task.issue is not None}:
            self._recall(recalled)
        for lane in {task.lane for task in tasks}:
            ended = [task for task in tasks if task.lane == lane]
            if not is_durable:
                self._say_ended(ended)
                continue
            ours = self._lanes[lane]
            ours.connections.release([ours.unsettled.pop(task.number) for task in ended])
            ours.recorded += [task.number for task in ended]
            ours.recalled |= recalled
            if self._telling is None:
                self._telling = asyncio.get_running_loop().call_later(TELL_AFTER, self._say_recorded)

    def _say_recorded(self) -> None:
        self._telling = None
        for lane, ours in self._lanes.items():
            if ours.recorded:
                numbers, ours.recorded = ours.recorded, []
                recalled, ours.recalled = frozenset(ours.recalled), set()
                lane_state = ours.connections.opened, ours.connections.stopped
                self._say(Recorded(lane, numbers, *lane_state, recalled))

    def _say_ended(self, tasks: Sequence[ChildTask]) -> None:
        ends = []
        for task in tasks:
            outcome = task.outcome
            told = outcome.remote_id if isinstance(outcome, Sent) and outcome.stored is None else outcome
            ends.append((task.number, told, task.begun, task.at))
        connections = self._lanes[tasks[0].lane].connections
        self._say(Ended(connections.lane, ends, connections.opened, connections.stopped))


class ChildProtocol(asyncio.Protocol):
    """The child's end of the line."""

    def __init__(self) -> None:
        self._frames = FrameReader()
        self._child: Child

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        write = transport.write  # type: ignore[attr-defined] # uvloop's are no subclass
        self._child = Child(lambda message: write(frame(message)))

    def connection_lost(self, error: Exception | None) -> None:
        os._exit(0)

    def data_received(self, data: bytes) -> None:
        for message in unpacked(self._frames.read(data)):
            self._child.hear(message)


@lru_cache(maxsize=1)
def prepare_child() -> None:
    """Tune a process that sends much. Call it once."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    # Freeze existing objects: a full collection stops everything for 70 ms.
    gc.collect()
    gc.freeze()
    # Messages are in no cycles, so collecting every 700 objects finds nothing.
    gc.set_threshold(20_000, 20, 20)


async def _serve(line: socket.socket) -> None:
    await asyncio.get_running_loop().create_connection(ChildProtocol, sock=line)
    await asyncio.Event().wait()


def serve(line: socket.socket) -> None:
    """Serve until the worker closes the socket."""
    # The worker decides when to stop, even when the whole process group is signalled.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    prepare_child()
    uvloop.run(_serve(line))
