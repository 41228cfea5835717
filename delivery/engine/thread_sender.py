"""Connections of a lane with blocking sessions: threads that never use the database."""

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import count
from queue import Empty, PriorityQueue
from typing import Any

from channels.base import (
    Ambiguous,
    BatchSession,
    Channel,
    CountsRefusals,
    Deletes,
    Edits,
    LaneFacts,
    Outcome,
    Permanent,
    Session,
    StatefulSession,
    Temporary,
)
from channels.letter import Letter
from delivery.bridges.corrections import SentPost
from delivery.engine.child_protocol import Permit
from delivery.engine.send_task import LONGEST_GOODBYE, Done, SendTask
from delivery.models import Delivery

log = logging.getLogger(__name__)

# Sorts after all tasks and ends the thread that gets it.
_LAST = 1_000_000
CANNOT_CHANGE = "This service does not let us change what was posted."
_Entry = tuple[int, int, SendTask | None]


class ThreadSender:
    """LaneSender with one thread and session per connection.

    Sessions for batches get groups of tasks of one letter; the barrier holds for the group.
    """

    def __init__(
        self,
        lane: LaneFacts,
        channel: Channel,
        width: int,
        *,
        permit: Permit,
        done: Done,
        clock: Callable[[], datetime],
    ) -> None:
        self.width, self.stopped = width, False
        self._lane, self._channel = lane, channel
        self._todo: PriorityQueue[_Entry] = PriorityQueue()
        self._numbers = count()
        self._permit, self._done, self._clock = permit, done, clock
        self._threads: list[threading.Thread] = []
        # Threads that are not ending.
        self._serving, self._lock = 0, threading.Lock()

    @property
    def opened(self) -> int:
        return sum(thread.is_alive() for thread in self._threads)

    def resize(self, width: int) -> None:
        self.width = width
        self.put(())

    def resume(self) -> None:
        self.stopped = False

    def put(self, tasks: Sequence[SendTask]) -> None:
        for task in tasks:
            self._todo.put((task.priority, next(self._numbers), task))
        for _ in range(min(self.width - self.opened, self._todo.qsize())):
            thread = threading.Thread(target=self._run, name=f"send {self._lane.kind}", daemon=True)
            with self._lock:
                try:
                    thread.start()
                except RuntimeError:  # no more threads: the existing ones do it
                    if not self._serving:
                        raise
                    continue
                self._serving += 1
            self._threads.append(thread)

    def settle(self, tasks: Sequence[SendTask]) -> None:
        for task in tasks:
            if task.released is not None:
                task.released()

    def sweep(self) -> None:
        entries: list[_Entry] = []
        with suppress(Empty):
            while True:
                entries.append(self._todo.get_nowait())
        may_not: list[SendTask] = []
        for entry in entries:
            task = entry[2]
            if task is None or self._may(task):
                self._todo.put(entry)
            else:
                may_not.append(task)
        if may_not:
            self._done.put(may_not)

    def cut_off(self) -> None:
        """Do nothing: blocking sessions have short timeouts."""

    def _may(self, task: SendTask) -> bool:
        return not (self.stopped or task.recalled) and self._permit.allows(task.pk)

    def leave(self) -> None:
        for _ in self._threads:
            self._todo.put((_LAST, next(self._numbers), None))

    def join(self) -> None:
        for thread in self._threads:
            thread.join(LONGEST_GOODBYE)

    def _run(self) -> None:
        session: Session | None = None
        while True:
            # The surplus thread ends here.
            with self._lock:
                if self._serving > self.width:
                    self._serving -= 1
                    break
            task = self._todo.get()[2]
            if task is None:
                break
            tasks = [task]
            try:
                tasks += self._like(task, getattr(session, "batch", 1) - 1)
                wanted = [one for one in tasks if self._may(one)]
                session = self._send(session, wanted)
            finally:
                waits = [threading.Event() for _ in tasks]
                for one, released in zip(tasks, waits, strict=True):
                    one.released = released.set
                self._done.put(tasks)
            for released in waits:
                released.wait()
        if session is not None:
            with suppress(Exception):
                session.close()

    def _like(self, task: SendTask, most: int) -> list[SendTask]:
        tasks: list[SendTask] = []
        with suppress(Empty):
            while len(tasks) < most:
                entry = self._todo.get_nowait()
                other = entry[2]
                if other is None or _letter(other) is not _letter(task):
                    self._todo.put(entry)
                    break
                tasks.append(other)
        return tasks

    def _send(self, session: Session | None, tasks: Sequence[SendTask]) -> Session | None:
        if not tasks:
            return session
        try:
            session = session or self._channel.connect(self._lane)
            if isinstance(session, BatchSession) and session.batch > 1:
                outcomes = self._send_batch(session, tasks)
            else:
                outcomes = [self._send_one(session, *tasks)]
        except Exception as error:  # these wait, the others go on
            log.exception("a message cannot be made", extra={"delivery": tasks[0].pk})
            outcomes = [Temporary(f"The message cannot be made: {error}")] * len(tasks)
        at = self._clock()
        state = session.new_state() if isinstance(session, StatefulSession) else None
        tasks[0].refusals = session.new_refusals() if isinstance(session, CountsRefusals) else 0
        for task, outcome in zip(tasks, outcomes, strict=True):
            task.outcome, task.at, task.new_state = outcome, at, state
            stops = isinstance(outcome, Temporary) and (outcome.stops_lane or outcome.stops_account)
            self.stopped |= stops
        return session

    def _send_one(self, session: Session, task: SendTask) -> Outcome:
        message = task.message()
        task.begun = True
        try:
            key = f"{_letter(task).token}-{task.pk}"
            if task.changes is not None:
                return _changed(session, task, task.changes, message, key=key, now=self._clock())
            return session.send(
                message,
                key=key,
                begun_at=task.delivery.begun_before,
                now=self._clock(),
                progress=task.progress,
            )
        except Exception as error:  # a bug of ours: how far it came is unknown
            log.exception("sending failed", extra={"delivery": task.pk})
            return _unforeseen(error)

    def _send_batch(self, session: BatchSession, tasks: Sequence[SendTask]) -> list[Outcome]:
        for task in tasks:
            task.begun = True
        recipients = [task.recipient for task in tasks if task.recipient is not None]
        try:
            outcomes = session.send_batch(_letter(tasks[0]), recipients, now=self._clock())
            if len(outcomes) != len(tasks):
                raise ValueError(f"{len(outcomes)} outcomes of {len(tasks)} messages")
        except Exception as error:
            log.exception("sending failed", extra={"delivery": tasks[0].pk})
            return [_unforeseen(error)] * len(tasks)
        return outcomes


def _changed(
    session: Session, task: SendTask, post: SentPost, message: Any, *, key: str, now: datetime
) -> Outcome:
    """Both can be repeated."""
    if task.delivery.kind == Delivery.Kind.DELETE:
        if not isinstance(session, Deletes):
            return Permanent(CANNOT_CHANGE)
        return session.delete(message, remote_id=post.remote_id, parts=post.parts, now=now)
    if not isinstance(session, Edits):
        return Permanent(CANNOT_CHANGE)
    return session.edit(message, remote_id=post.remote_id, parts=post.parts, key=key, now=now)


def _letter(task: SendTask) -> Letter:
    assert task.prepared is not None  # noqa: S101 - for the type checker
    return task.prepared.letter


def _unforeseen(error: Exception) -> Ambiguous:
    return Ambiguous(f"Sending failed in an unforeseen way ({type(error).__name__}: {error}).")
