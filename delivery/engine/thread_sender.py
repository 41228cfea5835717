"""The connections of a lane whose sessions block: threads that touch the network and never the database."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from queue import Empty, PriorityQueue, SimpleQueue

from delivery.channels.base import (
    Ambiguous,
    BatchSession,
    Channel,
    LaneFacts,
    Outcome,
    Session,
    Temporary,
)
from delivery.engine.jobs import Done, OutgoingMessage, SendTask

log = logging.getLogger(__name__)

# Comes after all tasks: the thread that gets it ends.
_LAST = 1_000_000
_Entry = tuple[int, int, SendTask | None]


class ThreadSender:
    """A Sender: as many threads as the lane is wide, each with a session of its own.

    A session that sends batches is given groups of one letter's tasks; the barrier holds for the group.
    """

    def __init__(
        self,
        lane: LaneFacts,
        channel: Channel,
        width: int,
        done: Done,
        may_begin: Callable[[SendTask], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self.width, self.stopped = width, False
        self.narrowed: SimpleQueue[tuple[int, str]] = SimpleQueue()
        self._lane, self._channel = lane, channel
        self._todo: PriorityQueue[_Entry] = PriorityQueue()
        self._numbers = count()
        self._done, self._may_begin, self._clock = done, may_begin, clock
        self._threads: list[threading.Thread] = []
        # How many of them do not end yet.
        self._serving, self._lock = 0, threading.Lock()

    @property
    def opened(self) -> int:
        return sum(thread.is_alive() for thread in self._threads)

    def put(self, tasks: Sequence[SendTask]) -> None:
        """Opens more connections if all may be busy."""
        for task in tasks:
            self._todo.put((task.job.row.priority, next(self._numbers), task))
        for _ in range(min(self.width - self.opened, self._todo.qsize())):
            self._open()

    def settle(self, tasks: Sequence[SendTask]) -> None:
        for task in tasks:
            if task.settled is not None:
                task.settled.set()

    def leave(self) -> None:
        for _ in self._threads:
            self._todo.put((_LAST, next(self._numbers), None))

    def join(self, seconds: float) -> None:
        for thread in self._threads:
            thread.join(seconds)

    def _open(self) -> None:
        thread = threading.Thread(target=self._run, name=f"send {self._lane.kind}", daemon=True)
        with self._lock:
            try:
                thread.start()
            except RuntimeError:  # no more threads: those that there are do it
                if not self._serving:
                    raise
                return
            self._serving += 1
        self._threads.append(thread)

    def _steps_down(self) -> bool:
        """Whether the thread that asks is one more than the lane's share allows now."""
        with self._lock:
            is_too_many = self._serving > self.width
            self._serving -= is_too_many
            return is_too_many

    def _run(self) -> None:
        session: Session | None = None
        while not self._steps_down() and (task := self._todo.get()[2]) is not None:
            tasks = [task]
            try:
                tasks += self._like(task, getattr(session, "batch", 1) - 1)
                session = self._send(session, [one for one in tasks if self._is_wanted(one)])
            finally:
                waits = [self._end(one) for one in tasks]
            for settled in waits:
                settled.wait()
        _close(session)

    def _end(self, task: SendTask) -> threading.Event:
        """Hands the task back. Returns what to wait for."""
        settled = task.settled = threading.Event()
        self._done.put([task])
        return settled

    def _is_wanted(self, task: SendTask) -> bool:
        return not self.stopped and self._may_begin(task)

    def _like(self, task: SendTask, most: int) -> list[SendTask]:
        """Up to that many of those that wait next, as long as they are of the same letter."""
        tasks: list[SendTask] = []
        with suppress(Empty):
            while len(tasks) < most:
                entry = self._todo.get_nowait()
                other = entry[2]
                if other is None or _parcel(other).letter is not _parcel(task).letter:
                    self._todo.put(entry)
                    break
                tasks.append(other)
        return tasks

    def _send(self, session: Session | None, tasks: Sequence[SendTask]) -> Session | None:
        """Sets the tasks' outcomes. Returns the session to go on with."""
        if not tasks:
            return session
        try:
            session = session or self._channel.connect(self._lane)
            outcomes = self._outcomes(session, tasks)
        except Exception as error:  # these wait, the others go on
            log.exception("a message cannot be made", extra={"delivery": tasks[0].job.pk})
            outcomes = [Temporary(f"The message cannot be made: {error}")] * len(tasks)
        at = self._clock()
        for task, outcome in zip(tasks, outcomes, strict=True):
            task.outcome, task.at = outcome, at
            self.stopped |= isinstance(outcome, Temporary) and outcome.stops_lane
        return session

    def _outcomes(self, session: Session, tasks: Sequence[SendTask]) -> list[Outcome]:
        if isinstance(session, BatchSession) and session.batch > 1:
            return self._batch(session, tasks)
        (task,) = tasks
        parcel = _parcel(task)
        message = parcel.compose(parcel.recipient)
        task.begun = True
        try:
            sent = session.send(
                message,
                key=f"{parcel.letter.token}-{task.job.pk}",
                begun_at=task.job.begun_before,
                now=self._clock(),
            )
        except Exception as error:  # a defect of ours, and nobody knows how far it came
            log.exception("sending failed", extra={"delivery": task.job.pk})
            return [_unforeseen(error)]
        return [sent]

    def _batch(self, session: BatchSession, tasks: Sequence[SendTask]) -> list[Outcome]:
        for task in tasks:
            task.begun = True
        recipients = [_parcel(task).recipient for task in tasks]
        try:
            outcomes = session.send_batch(_parcel(tasks[0]).letter, recipients, now=self._clock())
            if len(outcomes) != len(tasks):
                raise ValueError(f"{len(outcomes)} outcomes of {len(tasks)} messages")
        except Exception as error:
            log.exception("sending failed", extra={"delivery": tasks[0].job.pk})
            return [_unforeseen(error)] * len(tasks)
        return outcomes


def _parcel(task: SendTask) -> OutgoingMessage:
    assert task.parcel is not None  # noqa: S101 - for the type checker
    return task.parcel


def _unforeseen(error: Exception) -> Ambiguous:
    return Ambiguous(f"Sending failed in an unforeseen way ({type(error).__name__}: {error}).")


def _close(session: Session | None) -> None:
    if session is not None:
        with suppress(Exception):
            session.close()
