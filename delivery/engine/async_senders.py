"""Two senders over asynchronous connections: in the child process where there is much to send, in a thread of
this process where there is little.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime
from queue import SimpleQueue
from typing import Any

from delivery.channels.base import AsyncSession, Outcome, Sent, Temporary
from delivery.engine.async_connections import AsyncConnections
from delivery.engine.child_client import LoopProcess
from delivery.engine.jobs import Done, SendTask

log = logging.getLogger(__name__)

# What is told of those that are recorded already.
ACCEPTED = Sent("")


class ProcessSender:
    """A Sender. When the process goes, what it had comes back as not begun: with e-mail's crash policy
    that is sent again, at most one message of each connection for the second time."""

    def __init__(
        self,
        process: LoopProcess,
        lane_id: int,
        open_session: Callable[[], AsyncSession],
        width: int,
        done: Done,
        clock: Callable[[], datetime],
    ) -> None:
        self._process, self._lane_id, self._done, self._clock = process, lane_id, done, clock
        self._width, self._stopped, self.opened = width, False, 0
        self.narrowed: SimpleQueue[tuple[int, str]] = SimpleQueue()
        self._there: dict[int, SendTask] = {}
        self._closed = threading.Event()
        self._todo: SimpleQueue[Sequence[SendTask]] = SimpleQueue()
        # (Composing computes, and handing over may wait for the process: claiming goes on meanwhile.)
        threading.Thread(target=self._compose_all, name="compose", daemon=True).start()
        process.listen(lane_id, self._heard)
        process.say("lane", lane_id, open_session, width)

    @property
    def width(self) -> int:
        return self._width

    @width.setter
    def width(self, width: int) -> None:
        if width != self._width:
            self._width = width
            self._process.say("width", self._lane_id, width)

    @property
    def stopped(self) -> bool:
        return self._stopped

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        if self._stopped and not stopped:
            self._process.say("go_on", self._lane_id)
        self._stopped = stopped

    def put(self, tasks: Sequence[SendTask]) -> None:
        self._there.update((task.pk, task) for task in tasks)
        if tasks:
            self._todo.put(tasks)
        if not self._process.is_alive:
            self.give_up()

    def _compose_all(self) -> None:
        while tasks := self._todo.get():
            made = [(task, mail) for task in tasks if (mail := self._message(task)) is not None]
            try:
                self._process.put(self._lane_id, made)
            except Exception as error:  # they must come back, whatever it is
                log.exception("messages cannot be handed over", extra={"lane": self._lane_id})
                self._refuse([task for task, _ in made], error)

    def _message(self, task: SendTask) -> Any:
        try:
            return task.message()
        except Exception as error:  # one recipient waits, the others go on
            log.exception("a message cannot be made", extra={"delivery": task.pk})
            self._refuse([task], error)
            return None

    def _refuse(self, tasks: Sequence[SendTask], error: Exception) -> None:
        """(The process never had them, and needs no word when they are settled.)"""
        refused = [task for task in tasks if self._there.pop(task.pk, None) is not None]
        for task in refused:
            task.outcome, task.at = Temporary(f"The message cannot be made: {error}"), self._clock()
            task.is_carried = False
        self._done.put(refused)

    def settle(self, tasks: Sequence[SendTask]) -> None:
        if tasks:
            self._process.say("settled", self._lane_id, [task.pk for task in tasks])

    def leave(self) -> None:
        """(Said when they are joined.)"""

    def join(self, seconds: float) -> None:
        self._process.say("leave", self._lane_id, seconds)
        while self._process.is_alive and not self._closed.wait(0.5):
            pass
        self._todo.put(())

    def give_up(self) -> None:
        """The process is gone: nothing that it had will come back from there."""
        there = [task for pk in list(self._there) if (task := self._there.pop(pk, None)) is not None]
        for task in there:
            task.is_carried = False
        self.stopped = True
        self._todo.put(())
        self._done.put(there)

    def _heard(self, word: str, *rest: Any) -> None:
        getattr(self, f"_on_{word}")(*rest)

    def _on_narrowed(self, width: int, said: str) -> None:
        self.narrowed.put((width, said))

    def _on_closed(self) -> None:
        self._closed.set()

    def _on_recorded(self, pks: Sequence[int], opened: int, stopped: bool) -> None:
        self.opened, self._stopped = opened, stopped
        tasks = [self._there.pop(pk) for pk in pks]
        for task in tasks:
            task.outcome, task.begun = ACCEPTED, True
            task.is_recorded, task.is_carried = True, False
        self._done.put(tasks)

    def _on_ended(self, rows: Sequence[tuple[int, Any, bool, datetime]], opened: int, stopped: bool) -> None:
        self.opened, self._stopped = opened, stopped
        tasks = []
        for pk, told, begun, at in rows:
            task = self._there.pop(pk)
            task.outcome, task.at, task.begun = _outcome(told), at, begun
            tasks.append(task)
        self._done.put(tasks)


def _outcome(told: Any) -> Outcome | None:
    return Sent(told) if isinstance(told, str) else told


class LoopSender:
    """A Sender."""

    def __init__(
        self,
        open_session: Callable[[], AsyncSession],
        loop: asyncio.AbstractEventLoop,
        width: int,
        done: Done,
        may_begin: Callable[[SendTask], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._loop = loop
        self.narrowed: SimpleQueue[tuple[int, str]] = SimpleQueue()
        self._pipelines = AsyncConnections[SendTask](
            open_session, width, done.put, may_begin, clock, self._narrow
        )

    def _narrow(self, width: int, said: str) -> None:
        self.narrowed.put((width, said))

    @property
    def width(self) -> int:
        return self._pipelines.width

    @width.setter
    def width(self, width: int) -> None:
        self._pipelines.width = width

    @property
    def stopped(self) -> bool:
        return self._pipelines.stopped

    @stopped.setter
    def stopped(self, stopped: bool) -> None:
        self._pipelines.stopped = stopped

    @property
    def opened(self) -> int:
        return self._pipelines.opened

    def put(self, tasks: Sequence[SendTask]) -> None:
        self._loop.call_soon_threadsafe(self._pipelines.take, tasks)

    def settle(self, tasks: Sequence[SendTask]) -> None:
        self._loop.call_soon_threadsafe(self._pipelines.release, tasks)

    def leave(self) -> None:
        self._loop.call_soon_threadsafe(self._pipelines.leave)

    def join(self, seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(self._pipelines.all_closed(seconds), self._loop).result()
