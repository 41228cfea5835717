"""The connections of one lane: threads that touch the network and never the database."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from queue import PriorityQueue, SimpleQueue
from typing import Any

from delivery.channels.base import (
    Ambiguous,
    Channel,
    LaneFacts,
    Letter,
    Outcome,
    Recipient,
    Session,
    Temporary,
)
from delivery.services.claiming import Job

log = logging.getLogger(__name__)
LAST = 1_000_000


@dataclass(eq=False)
class Task:
    """A job on its way. `outcome` None: it was not begun, and is given back. `begun`: a session had it."""

    job: Job
    outcome: Outcome | None = None
    at: datetime | None = None
    begun: bool = False
    settled: threading.Event = field(default_factory=threading.Event)


@dataclass(order=True)
class _Parcel:
    """A task with all that sending it needs; urgent ones first, else in the order they came."""

    priority: int
    number: int
    task: Task | None = field(default=None, compare=False)
    letter: Letter | None = field(default=None, compare=False)
    recipient: Recipient | None = field(default=None, compare=False)


class Connections:
    """As many threads as the lane is wide, each with a session of its own.

    The barrier: a thread begins its next message only when `settled` says that the outcome of its last
    one is durable. So a killed worker doubles at most one message for each open connection.
    """

    def __init__(
        self,
        lane: LaneFacts,
        channel: Channel,
        *,
        width: int,
        done: "SimpleQueue[Task]",
        may_begin: Callable[[Task], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._lane, self._channel, self.width = lane, channel, width
        self._todo: PriorityQueue[_Parcel] = PriorityQueue()
        self._numbers = count()
        self._done, self._may_begin, self._clock = done, may_begin, clock
        self._threads: list[threading.Thread] = []
        # Claimed and not settled yet; kept by the sender.
        self.outstanding = 0
        # Whether the last claim brought anything, so that the next one may.
        self.more = False
        # Set when the account itself cannot send: what is waiting here is given back, not tried one by one.
        self.stopped = False

    @property
    def runs_low(self) -> bool:
        return self.more and self.outstanding <= self.width

    def put(self, task: Task, letter: Letter, recipient: Recipient) -> None:
        """Hands a task over; its end arrives in `done`. Opens another connection if all may be busy."""
        if len(self._threads) < min(self.width, self.outstanding):
            self._open()
        self._todo.put(_Parcel(task.job.row.priority, next(self._numbers), task, letter, recipient))

    def _open(self) -> None:
        thread = threading.Thread(target=self._run, name=f"send {self._lane.kind}", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads: those that there are do it
            if not self._threads:
                raise
            return
        self._threads.append(thread)

    def leave(self) -> None:
        """Lets every thread close its session and end, once nothing is left to do."""
        for _ in self._threads:
            self._todo.put(_Parcel(LAST, next(self._numbers)))

    def join(self, timeout: float) -> None:
        for thread in self._threads:
            thread.join(timeout)

    def _run(self) -> None:
        session: Session | None = None
        while (parcel := self._todo.get()).task is not None:
            task = parcel.task
            try:
                if not self.stopped and self._may_begin(task):
                    session = self._send(session, task, parcel)
            finally:
                self._done.put(task)
            task.settled.wait()
        _close(session)

    def _send(self, session: Session | None, task: Task, parcel: _Parcel) -> Session | None:
        """Sets the task's outcome. Returns the session to go on with."""
        try:
            message = self._channel.compose(parcel.letter, parcel.recipient)  # type: ignore[arg-type]
            session = session or self._channel.connect(self._lane)
        except Exception as error:  # one recipient waits, the others go on
            log.exception("a message cannot be made", extra={"delivery": task.job.pk})
            task.outcome = Temporary(f"The message cannot be made: {error}")
        else:
            task.begun = True
            task.outcome = self._attempt(session, message, task, parcel)
        task.at = self._clock()
        self.stopped |= isinstance(task.outcome, Temporary) and task.outcome.stops_lane
        return session

    def _attempt(self, session: Session, message: Any, task: Task, parcel: _Parcel) -> Outcome:
        assert parcel.letter is not None  # noqa: S101 - for the type checker
        try:
            return session.send(
                message,
                key=f"{parcel.letter.token}-{task.job.pk}",
                begun_at=task.job.begun_before,
                now=self._clock(),
            )
        except Exception as error:  # a defect of ours, and nobody knows how far it came
            log.exception("sending failed", extra={"delivery": task.job.pk})
            return Ambiguous(f"Sending failed in an unforeseen way ({type(error).__name__}: {error}).")


def _close(session: Session | None) -> None:
    if session is not None:
        with suppress(Exception):
            session.close()
