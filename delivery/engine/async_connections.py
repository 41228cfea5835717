"""The connections of a lane whose channel has asynchronous sessions: coroutines in one event loop."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any, Generic, Protocol, TypeVar

from delivery.channels.base import Ambiguous, AsyncSession, Outcome, Temporary
from delivery.engine.admission import Admission
from delivery.engine.child_protocol import Narrowed, Permit

log = logging.getLogger(__name__)

# Seconds after which a message does not wait any more for the one before it on its connection.
TOLD_FOR = 5.0


class Carried(Protocol):
    """What a connection needs to know of a task, and what it notes there."""

    outcome: Outcome | None
    at: datetime
    begun: bool
    # Whether its issue was paused or cancelled meanwhile.
    recalled: bool
    # What the connection that had it waits for.
    released: Any

    @property
    def pk(self) -> int: ...

    @property
    def priority(self) -> int: ...

    def message(self) -> Any:
        """Composed when its turn comes. Raises whatever composing raises."""
        ...


T = TypeVar("T", bound=Carried)


class AsyncConnections(Generic[T]):
    """All of it runs in the loop's thread. `on_end` is given the tasks that ended in one turn of the loop.

    The barrier: a connection begins its next message only when `release` says that the outcome of its last
    one is durable.

    Where the server takes fewer connections, those that are too many end, and `on_narrow` is told.
    """

    def __init__(
        self,
        lane: int,
        open_session: Callable[[], AsyncSession],
        width: int,
        *,
        permit: Permit,
        on_end: Callable[[Sequence[T]], None],
        on_narrow: Callable[[Narrowed], None],
        clock: Callable[[], datetime],
    ) -> None:
        self.lane, self.width, self.stopped = lane, width, False
        # So many the server takes, as long as whoever sets the width has not heard of it.
        self._most: int | None = None
        self._admission, self._on_narrow = Admission(), on_narrow
        self._open_session, self._on_end = open_session, on_end
        self._permit, self._clock = permit, clock
        self._todo: list[tuple[int, int, T]] = []
        self._numbers = count()
        self._idle: list[asyncio.Future[None]] = []
        self._ended: list[T] = []
        self._workers: set[asyncio.Task[None]] = set()
        self._sessions: set[AsyncSession] = set()
        # The next message of each connection, with its task and since when its server knows of it.
        self._tolds: list[list[tuple[T, Any, float]]] = []
        # Those of them that do not say goodbye yet.
        self._serving = 0
        self._leaving = self._is_cut_off = False

    def set_width(self, width: int) -> None:
        """Holds from the next `take` on. Any thread may call it."""
        if self._most is not None and width <= self._most:
            self._most = None
        self.width = width if self._most is None else self._most

    @property
    def opened(self) -> int:
        return len(self._workers)

    async def all_closed(self, seconds: float) -> None:
        if self._workers:
            _, late = await asyncio.wait(self._workers, timeout=seconds)
            for worker in late:
                worker.cancel()

    def leave(self) -> None:
        self._leaving = True
        self._wake(len(self._idle))

    def take(self, tasks: Sequence[T]) -> None:
        for task in tasks:
            heappush(self._todo, (task.priority, next(self._numbers), task))
        if self._permit.is_finishing:
            self.sweep()
        # Those that are too many now must notice.
        self._wake(len(tasks) + max(self._serving - self.width, 0))
        for _ in range(min(self.width - len(self._workers), len(self._todo))):
            self._serving += 1
            worker = asyncio.get_running_loop().create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    def sweep(self) -> None:
        """Hand back what waits and may not be begun: all connections may be busy with a slow server.

        A message that waits behind such a one goes to another connection.
        """
        known_before = asyncio.get_running_loop().time() - TOLD_FOR
        late = [told.pop()[0] for told in self._tolds if told and told[0][2] < known_before]
        for task in late:
            heappush(self._todo, (task.priority, next(self._numbers), task))
        may_not = [task for _, _, task in self._todo if not self._may(task)]
        if may_not:
            self._todo = [entry for entry in self._todo if self._may(entry[2])]
            heapify(self._todo)
        for task in may_not:
            self._end(task)
        self._wake(len(late))

    def cut_off(self) -> None:
        self._is_cut_off = True
        for session in self._sessions:
            session.cut_off()

    def _may(self, task: T) -> bool:
        return not (self.stopped or task.recalled) and self._permit.allows(task.pk)

    def release(self, tasks: Sequence[T]) -> None:
        for task in tasks:
            if task.released is not None and not task.released.done():
                task.released.set_result(None)

    def _wake(self, number: int) -> None:
        for _ in range(min(number, len(self._idle))):
            self._idle.pop().set_result(None)

    async def _work(self) -> None:
        session, loop = self._open_session(), asyncio.get_running_loop()
        self._sessions.add(session)
        # The next task and its message, while the session has told the server of it.
        told: list[tuple[T, Any, float]] = []
        self._tolds.append(told)
        try:
            while (task := await self._next(session, told)) is not None:
                released = task.released = loop.create_future()
                is_too_many = False
                try:
                    # A server that has the envelope gets the message, unless that was recalled.
                    is_told = told and not (self.stopped or task.recalled) and self._permit.holds(task.pk)
                    if task.outcome is None and (is_told or self._may(task)):
                        is_too_many = await self._send(session, task, told)
                    else:
                        told.clear()
                finally:
                    if not is_too_many:
                        self._end(task)
                if is_too_many:
                    break
                await released
        finally:
            if told:
                self._end(told[0][0])
            self._admission.leave(session)
            self._sessions.discard(session)
            self._tolds = [other for other in self._tolds if other is not told]
            await session.close()

    def _end(self, task: T) -> None:
        """All that end in one turn of the loop are handed back together: to wake another thread for each
        would cost as much as sending it."""
        if not self._ended:
            asyncio.get_running_loop().call_soon(self._hand_back)
        self._ended.append(task)

    def _hand_back(self) -> None:
        ended, self._ended = self._ended, []
        self._on_end(ended)

    def _told_next(self, task: T, told: list[tuple[T, Any, float]]) -> Any:
        """The message that this connection will send after that task's, if one waits and is no more urgent:
        what is urgent goes by whichever connection is free first."""
        is_too_many = self._serving > self.width
        if self.stopped or is_too_many or not self._todo or self._todo[0][0] < task.priority:
            return None
        upcoming = self._todo[0][2]
        if upcoming.outcome is not None or not self._may(upcoming):
            return None
        try:
            message = upcoming.message()
        except Exception:  # noqa: BLE001 - it is made again when its turn comes, and says so then
            return None
        heappop(self._todo)
        told.append((upcoming, message, asyncio.get_running_loop().time()))
        return message

    async def _next(self, session: AsyncSession, told: list[tuple[T, Any, float]]) -> T | None:
        if told:
            task = told[0][0]
            if self.stopped or session.is_ready:
                return task
            # Its connection is gone, and with it what the server was told.
            told.clear()
            heappush(self._todo, (task.priority, next(self._numbers), task))
        # One more than the lane's share allows now closes for good.
        while self._serving <= self.width:
            if self._todo:
                if session.is_ready or not self._may(self._todo[0][2]):
                    return heappop(self._todo)[2]
                # It has no task meanwhile: others may be connected, and go on.
                refused = await self._admission.enter(session)
                if refused is None:
                    continue
                if refused.crowded:
                    self._narrow(refused.text)
                    return None
                self.stopped = True
                if self._todo:
                    task = heappop(self._todo)[2]
                    task.outcome, task.at = refused, self._clock()
                    return task
                continue
            if self._leaving:
                break
            idle = asyncio.get_running_loop().create_future()
            self._idle.append(idle)
            await idle
        self._serving -= 1
        return None

    def _narrow(self, said: str) -> None:
        """One of those that serve is too many."""
        self._serving -= 1
        self._most = max(self._serving, 1)
        self.width = min(self.width, self._most)
        self._on_narrow(Narrowed(self.lane, self._most, said))

    async def _send(self, session: AsyncSession, task: T, told: list[tuple[T, Any, float]]) -> bool:
        """Sets the task's outcome. True, with the task put back: its connection is one too many."""
        try:
            message = told.pop()[1] if told else task.message()
        except Exception as error:  # one recipient waits, the others go on
            log.exception("a message cannot be made", extra={"delivery": task.pk})
            task.outcome, task.at = Temporary(f"The message cannot be made: {error}"), self._clock()
            return False
        task.begun = True
        try:
            task.outcome = await session.send(
                message, now=self._clock(), following=lambda: self._told_next(task, told)
            )
        except Exception as error:  # a defect of ours, and nobody knows how far it came
            log.exception("sending failed", extra={"delivery": task.pk})
            task.outcome = Ambiguous(
                f"Sending failed in an unforeseen way ({type(error).__name__}: {error})."
            )
        task.at = self._clock()
        outcome = task.outcome
        if self._is_cut_off and isinstance(outcome, Temporary):
            # The server does not have it, and it is no fault of the server's.
            task.outcome, task.begun = None, False
            return False
        if isinstance(outcome, Temporary) and outcome.stops_lane:
            is_connections = outcome.crowded or not outcome.suspect
            if is_connections and await self._admission.has_other(session):
                task.outcome, task.begun = None, False
                self._narrow(outcome.text)
                self.take([task])
                return True
            self.stopped = True
        return False
