"""The connections of a lane with asynchronous sessions."""

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import count
from queue import SimpleQueue
from typing import assert_never

from channels.base import AsyncSession, Sent, Temporary
from channels.email.mail_message import MailMessage
from delivery.engine.child_client import SIGNERS, Client
from delivery.engine.child_protocol import (
    Closed,
    CloseLane,
    CutOff,
    Died,
    Ended,
    FromChild,
    MailRow,
    Narrowed,
    OpenLane,
    Put,
    Recorded,
    ResizeLane,
    ResumeLane,
    Settled,
)
from delivery.engine.send_task import LONGEST_GOODBYE, AcceptedTasks, Done, SendTask

log = logging.getLogger(__name__)


class AsyncSender:
    """LaneSender in the child.

    When a child process dies, its tasks return as not begun. Email's crash policy sends them again: at most
    one message per connection is repeated.
    """

    def __init__(
        self,
        child: Client,
        open_session: Callable[[], AsyncSession],
        width: int,
        *,
        done: Done,
        on_narrow: Callable[[Narrowed], object],
        clock: Callable[[], datetime],
    ) -> None:
        self._child, self._done, self._on_narrow, self._clock = child, done, on_narrow, clock
        self.width, self.stopped, self.opened = width, False, 0
        # By task number.
        self._there: dict[int, SendTask] = {}
        self._numbers = count(1)
        self._closed = threading.Event()
        self._todo: SimpleQueue[Sequence[SendTask]] = SimpleQueue()
        self._composing = 0
        self._compose_in(1)
        self.lane = child.add_lane(self._hear)
        child.say(OpenLane(self.lane, open_session, width))

    def resize(self, width: int) -> None:
        if width != self.width:
            self.width = width
            self._child.say(ResizeLane(self.lane, width))

    def resume(self) -> None:
        if self.stopped:
            self.stopped = False
            self._child.say(ResumeLane(self.lane))

    def put(self, tasks: Sequence[SendTask]) -> None:
        for task in tasks:
            task.number = next(self._numbers)
            self._there[task.number] = task
        if tasks:
            self._todo.put(tasks)
        if not self._child.is_alive:
            self._hear(Died(self.lane))

    def settle(self, tasks: Sequence[SendTask]) -> None:
        if tasks:
            self._child.say(Settled(self.lane, [task.number for task in tasks]))

    def sweep(self) -> None:
        """Do nothing: the child sweeps when it gets a permit or a recall."""

    def cut_off(self) -> None:
        self._child.say(CutOff(self.lane))

    def leave(self) -> None:
        self._child.say(CloseLane(self.lane, LONGEST_GOODBYE))

    def join(self) -> None:
        while self._child.is_alive and not self._closed.wait(0.5):
            pass
        self._end_composing()

    def _compose_in(self, threads: int) -> None:
        """Composing computes, and signing and handing over may block: they run beside claiming."""
        while self._composing < threads:
            self._composing += 1
            threading.Thread(target=self._compose_all, name="compose", daemon=True).start()

    def _end_composing(self) -> None:
        for _ in range(self._composing):
            self._todo.put(())

    def _compose_all(self) -> None:
        while tasks := self._todo.get():
            composed: list[tuple[SendTask, MailMessage]] = []
            self._hand_back([task for task in tasks if task.recalled])
            for task in tasks:
                if task.recalled:
                    continue
                try:
                    composed.append((task, task.message()))
                except Exception as error:  # only this recipient waits
                    log.exception("a message cannot be made", extra={"delivery": task.pk})
                    self._refuse([task], error)
            try:
                self._hand_over(self._signed(composed))
            except Exception as error:  # tasks must return whatever happens
                log.exception("messages cannot be handed over", extra={"lane": tasks[0].delivery.lane.pk})
                self._refuse([task for task, _ in composed], error)

    def _signed(self, composed: list[tuple[SendTask, MailMessage]]) -> list[tuple[SendTask, MailMessage]]:
        if not any(mail.signing_keys for _, mail in composed):
            return composed
        self._compose_in(SIGNERS)
        now, signed = self._clock(), []
        heads = self._child.heads([mail for _, mail in composed], now)
        for (task, mail), head in zip(composed, heads, strict=True):
            try:
                pieces = (head or mail.head(now), *mail.pieces)
            except Exception as error:  # only this recipient waits
                log.exception("a message cannot be signed", extra={"delivery": task.pk})
                self._refuse([task], error)
            else:
                signed.append((task, replace(mail, pieces=pieces, signing_keys=(), is_dated=True)))
        return signed

    def _hand_over(self, composed: Sequence[tuple[SendTask, MailMessage]]) -> None:
        mails: list[MailRow] = []
        for task, mail in composed:
            row = task.delivery
            # A lane with failures has to recover here, so the child does not record for it.
            token = row.token.hex if self._child.records and not row.lane.failures else ""
            facts = (task.number, row.pk, row.priority, token)
            contents = (mail.sender, mail.recipient, mail.pieces, mail.has_dots, mail.is_dated)
            mails.append((*facts, *contents, row.issue_id))
        self._child.say(Put(self.lane, mails))

    def _refuse(self, tasks: Sequence[SendTask], error: Exception) -> None:
        for task in tasks:
            task.outcome, task.at = Temporary(f"The message cannot be made: {error}"), self._clock()
        self._hand_back(tasks)

    def _hand_back(self, tasks: Sequence[SendTask]) -> None:
        known = [task for task in tasks if self._there.pop(task.number, None) is not None]
        for task in known:
            task.is_carried = False
        self._done.put(known)

    def _hear(self, message: FromChild | Died) -> None:
        match message:
            case Recorded(_, numbers, opened, stopped, recalled):
                self.opened, self.stopped = opened, stopped
                accepted = AcceptedTasks([self._there.pop(number) for number in numbers])
                accepted.recalled = recalled
                self._done.put(accepted)
            case Ended(_, ends, opened, stopped):
                self.opened, self.stopped = opened, stopped
                tasks = []
                for number, outcome, begun, at in ends:
                    task = self._there.pop(number)
                    task.outcome = Sent(outcome) if isinstance(outcome, str) else outcome
                    task.at, task.begun = at, begun
                    tasks.append(task)
                self._done.put(tasks)
            case Narrowed():
                self._on_narrow(message)
            case Closed():
                self.opened = 0
                self._closed.set()
            case Died():
                taken = [self._there.pop(number, None) for number in list(self._there)]
                there = [task for task in taken if task is not None]
                for task in there:
                    task.is_carried = False
                self.stopped = True
                self._end_composing()
                self._done.put(there)
            case _:
                assert_never(message)
