import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count

from channels.base import Ambiguous, AsyncSession, Sent, Stream, StreamingSession, Temporary
from channels.email.mail_message import MailMessage
from delivery.engine.child_protocol import ChildTask, Narrowed, Permit

# Seconds: the place of a session that has just closed may still count.
AGAIN_AFTER = 1.0
# Seconds a pipelined message waits for the one before it on the same connection.
ANNOUNCED_FOR = 5.0
log = logging.getLogger(__name__)


class Admission:
    def __init__(self) -> None:
        self._sessions: set[AsyncSession] = set()
        self._known: set[AsyncSession] = set()
        self._knocking = 0
        self._heard = asyncio.Condition()

    async def enter(self, session: AsyncSession) -> Temporary | None:
        """Connect the session. Return why not, with `crowded` set if another session is connected."""
        self._sessions.add(session)
        refused = await self._knock(session)
        if refused is not None and session in self._known:
            await asyncio.sleep(AGAIN_AFTER)
            refused = await self._knock(session)
        if refused is None:
            self._known.add(session)
            return None
        return replace(refused, crowded=await self.has_other(session))

    async def has_other(self, session: AsyncSession) -> bool:
        # All ask at once, so answers to others may be on their way.
        async with self._heard:
            await self._heard.wait_for(lambda: self._is_other_ready(session) or not self._knocking)
        return self._is_other_ready(session)

    def _is_other_ready(self, session: AsyncSession) -> bool:
        return any(other.is_ready for other in self._sessions if other is not session)

    def leave(self, session: AsyncSession) -> None:
        self._sessions.discard(session)
        self._known.discard(session)

    async def _knock(self, session: AsyncSession) -> Temporary | None:
        self._knocking += 1
        try:
            return await session.open()
        except Exception as error:  # a bug of ours must not lose what waits
            log.exception("connecting failed")
            text = f"Connecting failed in an unforeseen way ({type(error).__name__}: {error})."
            return Temporary(text, stops_lane=True)
        finally:
            self._knocking -= 1
            async with self._heard:
                self._heard.notify_all()


class AsyncConnections:
    """Run in the loop's thread and pass ended tasks to `on_end`, grouped by loop turn.

    A connection begins its next message only after `release` has confirmed that the last outcome is durable.
    Connections above the server's limit end, and `on_narrow` is called.
    """

    def __init__(
        self,
        lane: int,
        open_session: Callable[[], AsyncSession],
        width: int,
        *,
        permit: Permit,
        on_end: Callable[[Sequence[ChildTask]], None],
        on_narrow: Callable[[Narrowed], object],
        clock: Callable[[], datetime],
    ) -> None:
        self.lane, self.width, self.stopped = lane, width, False
        # The server's limit, until the lane's width has been lowered to it.
        self._most: int | None = None
        self._admission, self._on_narrow = Admission(), on_narrow
        self._open_session, self._on_end = open_session, on_end
        self._permit, self.clock = permit, clock
        self._todo: list[tuple[int, int, ChildTask]] = []
        self._numbers = count()
        self._idle: list[asyncio.Future[None]] = []
        self._ended: list[ChildTask] = []
        self._workers: set[asyncio.Task[None]] = set()
        self._sessions: set[AsyncSession] = set()
        # Of each connection.
        self._all_announced: list[list[tuple[ChildTask, float]]] = []
        # Connections that are not closing.
        self._serving = 0
        self._leaving = self._is_cut_off = False

    def set_width(self, width: int) -> None:
        """Apply from the next `take`. Thread-safe."""
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

    def take(self, tasks: Sequence[ChildTask]) -> None:
        for task in tasks:
            heappush(self._todo, (task.priority, next(self._numbers), task))
        if self._permit.is_finishing:
            self.sweep()
        self._wake(len(tasks) + max(self._serving - self.width, 0))
        for _ in range(min(self.width - len(self._workers), len(self._todo))):
            self._serving += 1
            worker = asyncio.get_running_loop().create_task(self._work())
            self._workers.add(worker)
            worker.add_done_callback(self._workers.discard)

    def sweep(self) -> None:
        """Return waiting messages that may no longer begin, even while all connections are busy.

        Messages behind a slow one move to another connection.
        """
        known_before = asyncio.get_running_loop().time() - ANNOUNCED_FOR
        late = [
            announced.pop()[0]
            for announced in self._all_announced
            if announced and announced[0][1] < known_before
        ]
        for task in late:
            heappush(self._todo, (task.priority, next(self._numbers), task))
        may_not = [task for _, _, task in self._todo if not self._may(task)]
        if may_not:
            self._todo = [entry for entry in self._todo if self._may(entry[2])]
            heapify(self._todo)
        for task in may_not:
            self.end(task)
        self._wake(len(late))

    def cut_off(self) -> None:
        self._is_cut_off = True
        for session in self._sessions:
            session.cut_off()

    def _may(self, task: ChildTask) -> bool:
        return not (self.stopped or task.recalled) and self._permit.allows(task.pk)

    def release(self, tasks: Sequence[ChildTask]) -> None:
        for task in tasks:
            if task.released is not None:
                task.released()

    def _wake(self, number: int) -> None:
        for _ in range(min(number, len(self._idle))):
            self._idle.pop().set_result(None)

    async def _work(self) -> None:
        session, loop = self._open_session(), asyncio.get_running_loop()
        self._sessions.add(session)
        # The next task, once announced to the server, and when.
        announced: list[tuple[ChildTask, float]] = []
        self._all_announced.append(announced)
        try:
            while (task := await self._next(session, announced)) is not None:
                begun = None
                if announced and session.is_ready and isinstance(session, StreamingSession):
                    begun = await ConnectionSource(self, announced).sent_by(session)
                    if begun is None and not (announced and session.is_ready):
                        continue
                    task = begun or announced[0][0]
                released = loop.create_future()
                task.released = partial(_end_wait, released)
                is_too_many = False
                try:
                    may = task.outcome is None and (self.may_go_on(announced) or self._may(task))
                    if begun is None:
                        announced.clear()
                    if begun or may:
                        is_too_many = await self._send(session, task, announced)
                finally:
                    if not is_too_many:
                        self.end(task)
                if is_too_many:
                    break
                await released
        finally:
            if announced:
                self.end(announced[0][0])
            self._admission.leave(session)
            self._sessions.discard(session)
            self._all_announced = [other for other in self._all_announced if other is not announced]
            await session.close()

    def end(self, task: ChildTask) -> None:
        """Return all tasks of one loop turn together:

        waking another thread for each costs as much as sending it.
        """
        if not self._ended:
            asyncio.get_running_loop().call_soon(self._hand_back)
        self._ended.append(task)

    def _hand_back(self) -> None:
        ended, self._ended = self._ended, []
        self._on_end(ended)

    def may_go_on(self, announced: list[tuple[ChildTask, float]]) -> bool:
        """A message whose envelope the server has is sent unless it was recalled."""
        if not announced or self.stopped:
            return False
        task = announced[0][0]
        return not task.recalled and self._permit.holds(task.pk)

    def announce_next(self, task: ChildTask, announced: list[tuple[ChildTask, float]]) -> MailMessage | None:
        is_too_many = self._serving > self.width
        if self.stopped or is_too_many or not self._todo or self._todo[0][0] < task.priority:
            return None
        upcoming = self._todo[0][2]
        if upcoming.outcome is not None or not self._may(upcoming):
            return None
        heappop(self._todo)
        announced.append((upcoming, asyncio.get_running_loop().time()))
        return upcoming.mail

    async def _next(
        self, session: AsyncSession, announced: list[tuple[ChildTask, float]]
    ) -> ChildTask | None:
        if announced:
            task = announced[0][0]
            if self.stopped or session.is_ready:
                return task
            # The announced message is gone with its connection.
            announced.clear()
            heappush(self._todo, (task.priority, next(self._numbers), task))
        # The surplus connection closes here.
        while self._serving <= self.width:
            if self._todo:
                if session.is_ready or not self._may(self._todo[0][2]):
                    return heappop(self._todo)[2]
                # It holds no task now, so others may connect.
                refused = await self._admission.enter(session)
                if refused is None:
                    continue
                if refused.crowded:
                    self._narrow(refused.text)
                    return None
                self.stopped = True
                if self._todo:
                    task = heappop(self._todo)[2]
                    task.outcome, task.at = refused, self.clock()
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
        self._serving -= 1
        self._most = max(self._serving, 1)
        self.width = min(self.width, self._most)
        self._on_narrow(Narrowed(self.lane, self._most, said))

    async def _send(
        self, session: AsyncSession, task: ChildTask, announced: list[tuple[ChildTask, float]]
    ) -> bool:
        """Set the task's outcome. Return True if this connection is surplus and put the task back."""
        task.begun = True
        try:
            task.outcome = await session.send(
                task.mail, now=self.clock(), following=lambda: self.announce_next(task, announced)
            )
        except Exception as error:  # a bug of ours: how far it came is unknown
            log.exception("sending failed", extra={"delivery": task.pk})
            task.outcome = Ambiguous(
                f"Sending failed in an unforeseen way ({type(error).__name__}: {error})."
            )
        task.at = self.clock()
        outcome = task.outcome
        if self._is_cut_off and isinstance(outcome, Temporary):
            # The server does not have the message and is not at fault.
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


class ConnectionSource:
    """MessageSource of one connection."""

    def __init__(self, connections: AsyncConnections, announced: list[tuple[ChildTask, float]]) -> None:
        self._connections, self._announced = connections, announced
        self._task: ChildTask | None = None
        self._stream: Stream | None = None
        self.now = connections.clock

    async def sent_by(self, session: StreamingSession) -> ChildTask | None:
        """Return the task that was begun and has no usual reply, if any."""
        self._stream = session.stream(self)
        try:
            await self._stream.ended
        except BaseException:
            if self._task is not None:
                self._connections.end(self._task)
            raise
        return self._task

    def may_begin(self) -> bool:
        return self._connections.may_go_on(self._announced)

    def begin(self) -> None:
        self._task = self._announced.pop()[0]
        self._task.begun = True

    def following(self) -> MailMessage | None:
        return self._connections.announce_next(self._task, self._announced) if self._task else None

    def accepted(self, outcome: Sent) -> None:
        task, self._task = self._task, None
        if task is not None and self._stream is not None:
            task.outcome, task.at, task.released = outcome, self.now(), self._stream.go_on
            self._connections.end(task)


def _end_wait(released: "asyncio.Future[None]") -> None:
    if not released.done():
        released.set_result(None)
