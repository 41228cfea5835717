"""The loop process: `python -m delivery.engine.child FD`. It sends, and knows no Django.

It has the connections of all lanes that have much to do, so that claiming and recording, which compute,
never keep the network waiting. It lives no longer than the worker that began it: when their pair of sockets
closes it is gone at once, and no connection has begun more than the message it was at.
"""

import asyncio
import os
import signal
import socket
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import uvloop

from common.clock import take_over, utcnow
from delivery.channels.base import Outcome, Sent
from delivery.channels.email.mail_message import MailMessage
from delivery.dkim.keys import SigningKey, from_pem
from delivery.engine.async_connections import FRESH, AsyncConnections
from delivery.engine.child_protocol import FrameReader, frame
from delivery.engine.child_recorder import Recorder
from delivery.engine.event_loop import prepare

# Seconds.
TELL_AFTER = 0.02


@dataclass(eq=False, slots=True)
class ChildTask:
    """A message to send; a task, as far as pipelines are concerned."""

    pk: int
    priority: int
    mail: Any
    lane: int
    # The lease's, where an acceptance may be recorded here.
    token: str
    outcome: Outcome | None = None
    at: datetime | None = None
    begun: bool = False
    released: "asyncio.Future[None] | None" = field(default=None, repr=False)

    def message(self) -> Any:
        return self.mail

    @property
    def remote_id(self) -> str:
        assert isinstance(self.outcome, Sent)  # noqa: S101 - for the type checker
        return self.outcome.remote_id

    @property
    def is_recordable(self) -> bool:
        return bool(self.token) and isinstance(self.outcome, Sent) and self.outcome.stored is None


class ChildProtocol(asyncio.Protocol):
    """Does what the engine says, a method for each word, and tells what ended."""

    def __init__(self) -> None:
        self._frames = FrameReader()
        self._transport: asyncio.Transport
        self._lanes: dict[int, AsyncConnections[ChildTask]] = {}
        self._unsettled: dict[int, ChildTask] = {}
        self._keys: dict[int, SigningKey] = {}
        self._recorder: Recorder[ChildTask] | None = None
        # By lane: what the worker has not been told of yet.
        self._recorded: dict[int, list[int]] = {}
        self._lost: frozenset[int] = frozenset()
        self._renewed_at = 0.0
        self._is_finishing = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment] # (uvloop's are no subclass.)

    def connection_lost(self, error: Exception | None) -> None:
        os._exit(0)

    def data_received(self, data: bytes) -> None:
        for word, *rest in self._frames.read(data):
            getattr(self, f"on_{word}")(*rest)

    def on_pass(self, clock_since: float | None) -> None:
        """A new pass has begun."""
        take_over(clock_since)
        self._is_finishing, self._lost = False, frozenset()

    def on_database(self, place: dict[str, Any]) -> None:
        """Where acceptances are recorded."""
        self._recorder = Recorder(place, self._end)

    def on_lane(self, lane: int, open_session: Any, width: int) -> None:
        def ended(tasks: Sequence[ChildTask]) -> None:
            self._tell(lane, tasks)

        def narrowed(width: int, said: str) -> None:
            self._say("narrowed", lane, width, said)

        self._lanes[lane] = AsyncConnections(open_session, width, ended, self._may_begin, utcnow, narrowed)

    def on_width(self, lane: int, width: int) -> None:
        self._lanes[lane].width = width
        self._lanes[lane].take(())

    def on_key(self, number: int, domain: str, selector: str, pem: str) -> None:
        self._keys[number] = SigningKey(domain, selector, from_pem(pem))

    def on_put(self, lane: int, mails: Sequence[tuple[Any, ...]]) -> None:
        tasks = [self._sending(lane, *mail) for mail in mails]
        self._unsettled.update((task.pk, task) for task in tasks)
        self._lanes[lane].take(tasks)

    def _sending(
        self,
        lane: int,
        pk: int,
        priority: int,
        token: str,
        sender: str,
        to: str,
        pieces: Sequence[bytes],
        dots: bool,
        keys: Sequence[int],
    ) -> ChildTask:
        signing = tuple(self._keys[number] for number in keys)
        return ChildTask(pk, priority, MailMessage(sender, to, "", pieces, signing, dots), lane, token)

    def on_settled(self, lane: int, pks: Sequence[int]) -> None:
        self._lanes[lane].release([self._unsettled.pop(pk) for pk in pks])

    def on_renewed(self, at: float, lost: frozenset[int]) -> None:
        """`at` on the clock that all processes of a machine share (CLOCK_MONOTONIC)."""
        self._renewed_at, self._lost = at, lost

    def on_go_on(self, lane: int) -> None:
        self._lanes[lane].stopped = False

    def on_finish(self) -> None:
        """Nothing more is begun."""
        self._is_finishing = True

    def on_leave(self, lane: int, seconds: float) -> None:
        pipelines = self._lanes[lane]
        pipelines.leave()
        closing = asyncio.get_running_loop().create_task(pipelines.all_closed(seconds))
        closing.add_done_callback(lambda _: self._closed(lane))

    def _closed(self, lane: int) -> None:
        self._tell_recorded()
        self._lanes.pop(lane)
        self._say("closed", lane)
        if not self._lanes and self._recorder is not None:
            self._closing = asyncio.get_running_loop().create_task(self._recorder.close())

    def _may_begin(self, task: ChildTask) -> bool:
        fresh = time.monotonic() - self._renewed_at < FRESH
        return fresh and not self._is_finishing and task.pk not in self._lost

    def _tell(self, lane: int, tasks: Sequence[ChildTask]) -> None:
        # (One time for all that ended together: they did within a millisecond.)
        now = utcnow()
        for task in tasks:
            task.at = now
        recordable = [task for task in tasks if task.is_recordable] if self._recorder else []
        if self._recorder and recordable:
            self._recorder.take(recordable)
        if len(recordable) < len(tasks):
            self._say_ended(lane, [task for task in tasks if task not in recordable])

    def _end(self, tasks: Sequence[ChildTask], is_durable: bool) -> None:
        """The recorder is through with these."""
        for lane in {task.lane for task in tasks}:
            ended = [task for task in tasks if task.lane == lane]
            if is_durable:
                self._release(lane, [task.pk for task in ended])
            else:
                self._say_ended(lane, ended)

    def _release(self, lane: int, pks: list[int]) -> None:
        """(The worker only counts them: it is told now and then.)"""
        self.on_settled(lane, pks)
        if not self._recorded:
            asyncio.get_running_loop().call_later(TELL_AFTER, self._tell_recorded)
        self._recorded.setdefault(lane, []).extend(pks)

    def _tell_recorded(self) -> None:
        told, self._recorded = self._recorded, {}
        for lane, pks in told.items():
            self._say("recorded", lane, pks, self._lanes[lane].opened, self._lanes[lane].stopped)

    def _say_ended(self, lane: int, tasks: Sequence[ChildTask]) -> None:
        rows = [(task.pk, _told(task.outcome), task.begun, task.at) for task in tasks]
        self._say("ended", lane, rows, self._lanes[lane].opened, self._lanes[lane].stopped)

    def _say(self, *words: Any) -> None:
        self._transport.write(frame(*words))


def _told(outcome: Outcome | None) -> Any:
    """(Nearly always it was accepted: a string takes a tenth of the time.)"""
    return outcome.remote_id if isinstance(outcome, Sent) and outcome.stored is None else outcome


async def _serve(fd: int) -> None:
    await asyncio.get_running_loop().create_connection(ChildProtocol, sock=socket.socket(fileno=fd))
    await asyncio.Event().wait()


def main(fd: int) -> None:
    """Serves until the other end of the socket closes."""
    # The worker decides when to stop, also where a whole group of processes is told to.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    prepare()
    uvloop.run(_serve(fd))


if __name__ == "__main__":
    main(int(sys.argv[1]))
