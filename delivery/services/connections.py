"""The connections of one lane: threads that touch the network and never the database."""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from queue import SimpleQueue

from delivery.channels.base import Channel, LaneFacts, Letter, Outcome, Recipient, Session, Temporary
from delivery.services.claiming import Job

log = logging.getLogger(__name__)


@dataclass
class Task:
    """A job with all that sending it needs. `outcome` None: it was not begun, and is given back."""

    job: Job
    letter: Letter
    recipient: Recipient
    outcome: Outcome | None = None
    at: datetime | None = None
    settled: threading.Event = field(default_factory=threading.Event)


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
        may_begin: Callable[[Job], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._lane, self._channel, self._width = lane, channel, width
        self._todo: SimpleQueue[Task | None] = SimpleQueue()
        self._done, self._may_begin, self._clock = done, may_begin, clock
        self._threads: list[threading.Thread] = []
        self.outstanding = 0
        # Set when the account itself cannot send: what is waiting here is given back, not tried one by one.
        self.stopped = False

    def put(self, task: Task) -> None:
        """Hands a task over; its end arrives in `done`. Opens another connection if all are busy."""
        self.outstanding += 1
        if len(self._threads) < min(self._width, self.outstanding):
            thread = threading.Thread(target=self._run, name=f"send {self._lane.kind}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._todo.put(task)

    def close(self) -> None:
        """Closes every session and waits for the threads; nothing may be outstanding."""
        for _ in self._threads:
            self._todo.put(None)
        for thread in self._threads:
            thread.join(timeout=10)

    def _run(self) -> None:
        session: Session | None = None
        while (task := self._todo.get()) is not None:
            if not self.stopped and self._may_begin(task.job):
                session = session or self._channel.connect(self._lane)
                task.outcome = self._send(session, task)
                task.at = self._clock()
                self.stopped |= isinstance(task.outcome, Temporary) and task.outcome.stops_lane
            self._done.put(task)
            task.settled.wait()
        if session is not None:
            session.close()

    def _send(self, session: Session, task: Task) -> Outcome:
        try:
            message = self._channel.compose(task.letter, task.recipient)
            return session.send(
                message,
                key=f"{task.letter.token}-{task.job.pk}",
                begun_at=task.job.begun_before,
                now=self._clock(),
            )
        except Exception as error:  # a defect of ours: one recipient waits, the others go on
            log.exception("sending failed", extra={"delivery": task.job.pk})
            return Temporary(f"Sending failed in an unforeseen way ({type(error).__name__}: {error}).")
