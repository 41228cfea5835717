"""The connections of a lane whose channel has asynchronous sessions: coroutines in one thread."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from heapq import heappop, heappush
from itertools import count

from delivery.channels.base import Ambiguous, AsyncSession, Temporary
from delivery.services.parcels import Done, Task

log = logging.getLogger(__name__)


class Pipelines:
    """A Carrier. All but the public methods run in the loop's thread."""

    def __init__(
        self,
        open_session: Callable[[], AsyncSession],
        loop: asyncio.AbstractEventLoop,
        width: int,
        done: Done,
        may_begin: Callable[[Task], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self.width, self.stopped = width, False
        self._open_session, self._loop = open_session, loop
        self._done, self._may_begin, self._clock = done, may_begin, clock
        self._todo: list[tuple[int, int, Task]] = []
        self._numbers = count()
        self._idle: list[asyncio.Future[None]] = []
        self._ended: list[Task] = []
        self._workers: set[asyncio.Task[None]] = set()
        # Those of them that do not say goodbye yet.
        self._serving = 0
        self._leaving = False

    @property
    def opened(self) -> int:
        return len(self._workers)

    def put(self, tasks: Sequence[Task]) -> None:
        self._loop.call_soon_threadsafe(self._take, tasks)

    def settle(self, tasks: Sequence[Task]) -> None:
        self._loop.call_soon_threadsafe(_release, tasks)

    def leave(self) -> None:
        self._loop.call_soon_threadsafe(self._leave)

    def join(self, seconds: float) -> None:
        asyncio.run_coroutine_threadsafe(self._all_closed(seconds), self._loop).result()

    async def _all_closed(self, seconds: float) -> None:
        if self._workers:
            _, late = await asyncio.wait(self._workers, timeout=seconds)
            for worker in late:
                worker.cancel()

    def _leave(self) -> None:
        self._leaving = True
        self._wake(len(self._idle))

    def _take(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            heappush(self._todo, (task.job.row.priority, next(self._numbers), task))
        # (Those that are too many now must notice.)
        self._wake(len(tasks) + max(self._serving - self.width, 0))
        for _ in range(min(self.width - len(self._workers), len(self._todo))):
            self._serving += 1
            worker = self._loop.create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    def _wake(self, number: int) -> None:
        for _ in range(min(number, len(self._idle))):
            self._idle.pop().set_result(None)

    async def _work(self) -> None:
        session = self._open_session()
        try:
            while (task := await self._next()) is not None:
                released = task.released = self._loop.create_future()
                try:
                    if not self.stopped and self._may_begin(task):
                        await self._send(session, task)
                finally:
                    self._end(task)
                await released
        finally:
            await session.close()

    def _end(self, task: Task) -> None:
        """Hands it back together with all that end in this turn of the loop: to wake another thread for
        each would cost as much as sending it."""
        if not self._ended:
            self._loop.call_soon(self._hand_back)
        self._ended.append(task)

    def _hand_back(self) -> None:
        ended, self._ended = self._ended, []
        self._done.put(ended)

    async def _next(self) -> Task | None:
        # (One more than the lane's share allows now closes for good.)
        while self._serving <= self.width:
            if self._todo:
                return heappop(self._todo)[2]
            if self._leaving:
                break
            idle = self._loop.create_future()
            self._idle.append(idle)
            await idle
        self._serving -= 1
        return None

    async def _send(self, session: AsyncSession, task: Task) -> None:
        """Sets the task's outcome."""
        assert task.parcel is not None  # noqa: S101 - for the type checker
        try:
            message = task.parcel.compose(task.parcel.recipient)
        except Exception as error:  # one recipient waits, the others go on
            log.exception("a message cannot be made", extra={"delivery": task.job.pk})
            task.outcome, task.at = Temporary(f"The message cannot be made: {error}"), self._clock()
            return
        task.begun = True
        try:
            task.outcome = await session.send(message, now=self._clock())
        except Exception as error:  # a defect of ours, and nobody knows how far it came
            log.exception("sending failed", extra={"delivery": task.job.pk})
            task.outcome = Ambiguous(
                f"Sending failed in an unforeseen way ({type(error).__name__}: {error})."
            )
        task.at = self._clock()
        self.stopped |= isinstance(task.outcome, Temporary) and task.outcome.stops_lane


def _release(tasks: Sequence[Task]) -> None:
    for task in tasks:
        if task.released is not None and not task.released.done():
            task.released.set_result(None)
