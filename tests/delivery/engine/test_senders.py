"""A sender's connection goes on after a durable outcome, and each task comes back once."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from queue import Empty, SimpleQueue
from typing import Any, cast
from uuid import uuid4

import pytest

from channels.base import Ambiguous, Channel, LaneFacts, Outcome, Sent, Temporary
from channels.email.mail_message import MailMessage
from channels.letter import Letter, Recipient
from delivery.engine.async_sender import AsyncSender
from delivery.engine.child_client import ChildThread
from delivery.engine.child_protocol import Narrowed, Permit
from delivery.engine.send_task import (
    ClaimedDelivery,
    ClaimedDestination,
    Done,
    LaneSender,
    PreparedLetter,
    SendTask,
)
from delivery.engine.thread_sender import ThreadSender
from delivery.models import Lane
from tests.channels.email_letters import letter
from tests.factories import NOW

LANE = Lane(pk=1, kind="email", account="default")
FACTS = LaneFacts("email", "default")
LETTER = letter()
QUIET = 0.15


class Service:
    """Fake service of sessions. Records what was begun; `says` returns the outcome or raises."""

    def __init__(self, says: Callable[[int], Outcome] = lambda _: Sent()) -> None:
        self.says = says
        self.begun: list[int] = []
        self.batches: list[list[int]] = []
        self.opened = self.closed = self.let_in = 0
        self.slow_goodbye = 0.0
        self.lock = threading.Lock()

    def take(self, number: int) -> Outcome:
        with self.lock:
            self.begun.append(number)
        return self.says(number)


class Blocking:
    def __init__(self, service: Service) -> None:
        self.service = service
        service.opened += 1

    def send(self, message: MailMessage, **_: Any) -> Outcome:
        return self.service.take(int(message.recipient))

    def close(self) -> None:
        time.sleep(self.service.slow_goodbye)
        self.service.closed += 1


class InBatches(Blocking):
    batch = 3
    short = 0

    def send_batch(self, letter: Letter, recipients: Sequence[Recipient], *, now: datetime) -> list[Outcome]:
        numbers = [recipient.delivery_id for recipient in recipients]
        self.service.batches.append(numbers)
        outcomes = [self.service.take(number) for number in numbers]
        return outcomes[: len(outcomes) - self.short]


class Asynchronous:
    def __init__(self, service: Service) -> None:
        self.service = service
        service.opened += 1

    is_ready = True

    async def open(self) -> Temporary | None:
        return None

    async def send(self, message: MailMessage, *, now: datetime, following: Callable[[], Any]) -> Outcome:
        await asyncio.sleep(0)
        return self.service.take(int(message.recipient))

    def cut_off(self) -> None:
        """Nothing to cut: no request is in flight for long."""

    async def close(self) -> None:
        await asyncio.sleep(self.service.slow_goodbye)
        self.service.closed += 1


class OneChannel:
    def __init__(self, service: Service, session: type = Blocking) -> None:
        self.service, self.session = service, session

    def connect(self, lane: LaneFacts) -> Any:
        return self.session(self.service)


Made = Callable[..., tuple[LaneSender, Done]]


@pytest.fixture(params=["blocking", "asynchronous"])
def made(request: pytest.FixtureRequest) -> Iterator[Made]:
    """Yield a function that makes senders of either sort, and close them."""
    senders: list[tuple[LaneSender, ChildThread | None]] = []

    def make(service: Service, width: int, *, lost: frozenset[int] = frozenset()) -> Any:
        done: Done = SimpleQueue()
        child = None
        if request.param == "blocking":
            channel = cast(Channel, OneChannel(service))
            sender: Any = ThreadSender(
                FACTS, channel, width, permit=permit(lost), done=done, clock=lambda: NOW
            )
        else:
            child = child_thread(lost)
            sender = sender_of(child, lambda: Asynchronous(service), width, done)
        senders.append((sender, child))
        return sender, done

    yield make
    for sender, child in senders:
        sender.leave()
        sender.join()
        assert sender.opened == 0
        if child is not None:
            child.close()


def sender_of(
    child: ChildThread, opens: Any, width: int, done: Done, on_narrow: Callable[[Narrowed], object] = print
) -> AsyncSender:
    return AsyncSender(child, opens, width, done=done, on_narrow=on_narrow, clock=lambda: NOW)


def permit(lost: frozenset[int] = frozenset()) -> Permit:
    return Permit(time.monotonic(), lost)


def task(number: int, *, priority: int = 5, of: Letter = LETTER, compose: Any = None) -> SendTask:
    to = ClaimedDestination("email", "a@example.test", "a@example.test", {}, cast(Any, None), "")
    facts = (number, "issue", 1, 0, "example.test", priority, None, number, LANE, to, None)
    recipient = Recipient(delivery_id=number, core="a@example.test", label="")
    prepared = PreparedLetter(
        of, None, compose or (lambda one: MailMessage("", str(one.delivery_id), "", ()))
    )
    row = ClaimedDelivery(*facts, uuid4(), NOW)
    return SendTask(row, prepared, recipient, is_carried=True)


def tasks(count: int, start: int = 0) -> list[SendTask]:
    return [task(number) for number in range(start, start + count)]


def next_ended(done: Done, count: int) -> list[SendTask]:
    got: list[SendTask] = []
    while len(got) < count:
        got += done.get(timeout=5)
    return got


def ended(done: Done, count: int) -> list[SendTask]:
    """Return that many tasks that come back; assert that no more follow at once."""
    got = next_ended(done, count)
    assert len(got) == count
    with pytest.raises(Empty):
        done.get(timeout=QUIET)
    return got


def all_ended(sender: LaneSender, done: Done, count: int) -> list[SendTask]:
    """Return that many tasks, each settled as it comes back."""
    got: list[SendTask] = []
    while len(got) < count:
        more = done.get(timeout=5)
        got += more
        sender.settle(more)
    assert len(got) == count
    return got


def test_until_an_outcome_is_durable_its_connection_begins_nothing(made: Made) -> None:
    service = Service()
    sender, done = made(service, 3)
    sender.put(tasks(8))
    first = ended(done, 3)
    assert len(service.begun) == 3
    sender.settle(first[:1])
    second = ended(done, 1)
    assert len(service.begun) == 4
    sender.settle([*first[1:], *second])
    third = ended(done, 3)
    sender.settle(third)
    assert len(service.begun) == 7
    sender.settle(ended(done, 1))
    assert sorted(service.begun) == list(range(8))


def test_urgent_ones_go_first_then_those_that_came_first(made: Made) -> None:
    service = Service()
    sender, done = made(service, 1)
    sender.put([task(0), task(1)])
    first = ended(done, 1)
    sender.put([task(2), task(3, priority=1)])
    # They are made in another thread.
    time.sleep(QUIET)
    sender.settle(first)
    all_ended(sender, done, 3)
    assert service.begun == [0, 3, 1, 2]


def test_one_that_cannot_be_made_waits_and_the_others_go(made: Made) -> None:
    service = Service()
    sender, done = made(service, 1)
    poisoned = task(1, compose=lambda _: 1 // 0)
    sender.put([task(0), poisoned, task(2)])
    all_ended(sender, done, 3)
    assert service.begun == [0, 2]
    assert isinstance(poisoned.outcome, Temporary)
    assert not poisoned.begun


def test_a_defect_while_sending_is_ambiguous_and_the_connection_goes_on(made: Made) -> None:
    service = Service(lambda number: Sent() if number else Sent(remote_id=cast(str, 1 // 0)))
    sender, done = made(service, 1)
    sender.put(tasks(3))
    outcomes = {one.pk: (type(one.outcome), one.begun) for one in all_ended(sender, done, 3)}
    assert outcomes == {0: (Ambiguous, True), 1: (Sent, True), 2: (Sent, True)}


def test_when_the_account_cannot_send_the_rest_comes_back_untouched(made: Made) -> None:
    service = Service(lambda _: Temporary("no", stops_lane=True))
    sender, done = made(service, 1)
    sender.put(tasks(5))
    got = all_ended(sender, done, 5)
    assert sender.stopped
    assert service.begun == [0]
    assert [one.outcome is None for one in got] == [False, True, True, True, True]
    service.says = lambda _: Sent()
    sender.resume()
    sender.put(tasks(2, 10))
    assert all(isinstance(one.outcome, Sent) for one in all_ended(sender, done, 2))


def test_what_may_not_begin_comes_back_untouched(made: Made) -> None:
    service = Service()
    sender, done = made(service, 2, lost=frozenset({1, 3, 5}))
    sender.put(tasks(6))
    got = all_ended(sender, done, 6)
    assert sorted(service.begun) == [0, 2, 4]
    assert {one.pk: one.outcome is None for one in got} == {n: n % 2 == 1 for n in range(6)}


def test_connections_beyond_the_share_close_while_there_is_work(made: Made) -> None:
    service = Service()
    sender, done = made(service, 4)
    sender.put(tasks(40))
    first = ended(done, 4)
    assert sender.opened == 4
    sender.resize(1)
    sender.settle(first)
    sender.settle(ended(done, 1))
    assert service.closed == 3
    all_ended(sender, done, 35)
    assert sender.opened == 1


def test_idle_connections_beyond_the_share_close_and_the_last_goes_on(made: Made) -> None:
    service = Service()
    sender, done = made(service, 4)
    sender.put(tasks(4))
    sender.settle(ended(done, 4))
    time.sleep(QUIET)
    sender.resize(1)
    sender.put([task(10)])
    all_ended(sender, done, 1)
    sender.put([task(11), task(12)])
    all_ended(sender, done, 2)


def test_when_all_close_but_one_what_comes_meanwhile_is_not_left_lying(made: Made) -> None:
    service = Service()
    service.slow_goodbye = 0.3
    sender, done = made(service, 4)
    sender.put(tasks(4))
    first = ended(done, 4)
    sender.resize(2)
    sender.settle(first)
    time.sleep(0.05)
    sender.put(tasks(6, 10))
    assert len(all_ended(sender, done, 6)) == 6
    assert sorted(service.begun)[4:] == list(range(10, 16))


def test_a_share_that_grows_again_opens_connections_again(made: Made) -> None:
    service = Service()
    sender, done = made(service, 1)
    sender.put(tasks(2))
    first = ended(done, 1)
    sender.resize(3)
    sender.put(tasks(6, 10))
    second = ended(done, 2)
    sender.settle([*first, *second])
    all_ended(sender, done, 5)
    assert sender.opened == service.opened == 3


# --- only asynchronous senders


class Closed(Asynchronous):
    """Service that accepts only `room` sessions."""

    def __init__(self, service: Service, room: int, problem: Exception | None = None) -> None:
        super().__init__(service)
        self.is_ready, self.problem, self.room = False, problem, room

    async def open(self) -> Temporary | None:
        await asyncio.sleep(0.01)
        if self.problem:
            raise self.problem
        if self.service.let_in < self.room:
            self.service.let_in += 1
            self.is_ready = True
            return None
        return Temporary("421 full", stops_lane=True)


def child_thread(lost: frozenset[int] = frozenset()) -> ChildThread:
    made = ChildThread(lambda: NOW)
    made.say(permit(lost))
    return made


@contextmanager
def in_a_thread(
    service: Service, width: int, narrowed: "SimpleQueue[Narrowed] | None" = None, **facts: Any
) -> Iterator[tuple[AsyncSender, Done]]:
    child, done = child_thread(), cast(Done, SimpleQueue())
    sender = sender_of(child, lambda: Closed(service, **facts), width, done, (narrowed or SimpleQueue()).put)
    try:
        yield sender, done
        sender.leave()
        sender.join()
        assert sender.opened == 0
    finally:
        child.close()


def test_connections_that_are_refused_end_and_the_others_do_all() -> None:
    narrowed: SimpleQueue[Narrowed] = SimpleQueue()
    with in_a_thread(Service(), 6, narrowed, room=2) as (sender, done):
        sender.put(tasks(40))
        assert all(isinstance(one.outcome, Sent) for one in all_ended(sender, done, 40))
        assert (sender.stopped, sender.opened) == (False, 2)
        news = [narrowed.get(timeout=1) for _ in range(4)]
        assert news == [Narrowed(1, width, "421 full") for width in (5, 4, 3, 2)]
        # Until the lane has the server's number, ours counts no more.
        for width, open_then in ((6, 2), (2, 2), (3, 3)):
            sender.resize(width)
            sender.put(tasks(12))
            all_ended(sender, done, 12)
            assert sender.opened == open_then


def test_where_all_are_refused_everything_comes_back_and_one_says_why() -> None:
    with in_a_thread(Service(), 6, room=0) as (sender, done):
        sender.put(tasks(20))
        outcomes = [one.outcome for one in all_ended(sender, done, 20)]
        assert sender.stopped
        assert 1 <= sum(isinstance(outcome, Temporary) for outcome in outcomes) <= 6
        assert not any(isinstance(outcome, Sent) for outcome in outcomes)


def test_a_defect_while_connecting_loses_no_task() -> None:
    with in_a_thread(Service(), 3, room=0, problem=ValueError("no")) as (sender, done):
        sender.put(tasks(10))
        outcomes = [one.outcome for one in all_ended(sender, done, 10)]
        assert any("unforeseen" in getattr(outcome, "text", "") for outcome in outcomes)


# --- only blocking senders


def in_batches(service: Service, width: int, **facts: int) -> tuple[ThreadSender, Done]:
    done: Done = SimpleQueue()
    session = type("Session", (InBatches,), facts)
    channel = cast(Channel, OneChannel(service, session))
    return ThreadSender(FACTS, channel, width, permit=permit(), done=done, clock=lambda: NOW), done


def goodbye(sender: ThreadSender) -> None:
    sender.leave()
    sender.join()
    assert sender.opened == 0


def test_the_next_batch_begins_when_the_whole_of_the_last_is_durable() -> None:
    service = Service()
    sender, done = in_batches(service, 1)
    sender.put(tasks(8))
    sender.settle(ended(done, 1))
    batch = ended(done, 3)
    sender.settle(batch[:2])
    with pytest.raises(Empty):
        done.get(timeout=QUIET)
    assert service.batches == [[0], [1, 2, 3]]
    sender.settle(batch[2:])
    all_ended(sender, done, 4)
    assert service.batches == [[0], [1, 2, 3], [4, 5, 6], [7]]
    assert service.begun == list(range(8))
    goodbye(sender)


def test_a_batch_is_of_one_letter() -> None:
    service, other = Service(), letter()
    sender, done = in_batches(service, 1)
    sender.put([task(0), task(1), task(2, of=other), task(3, of=other), task(4)])
    all_ended(sender, done, 5)
    assert service.begun == [0, 1, 2, 3, 4]
    assert service.batches == [[0], [1], [2, 3], [4]]
    goodbye(sender)


def test_a_batch_with_too_few_outcomes_is_ambiguous_as_a_whole() -> None:
    service = Service()
    sender, done = in_batches(service, 1, short=1)
    sender.put(tasks(6))
    got = all_ended(sender, done, 6)
    assert {type(one.outcome) for one in got} == {Ambiguous}
    assert all(one.begun for one in got)
    goodbye(sender)


def test_a_session_that_cannot_be_made_fails_nobody_for_good() -> None:
    service = Service()
    done: Done = SimpleQueue()

    class Broken(OneChannel):
        def connect(self, lane: LaneFacts) -> Any:
            if service.opened < 2:
                service.opened += 1
                raise OSError("no more files")
            return super().connect(lane)

    shared: Any = {"permit": permit(), "done": done, "clock": lambda: NOW}
    sender = ThreadSender(FACTS, cast(Channel, Broken(service)), 1, **shared)
    sender.put(tasks(4))
    got = all_ended(sender, done, 4)
    assert [type(one.outcome) for one in got] == [Temporary, Temporary, Sent, Sent]
    goodbye(sender)


@pytest.mark.parametrize("threads", [0, 1])
def test_threads_that_there_are_do_all_and_where_none_can_start_it_is_said(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    service, done, left = Service(), SimpleQueue[Any](), [None] * threads
    start = threading.Thread.start

    def start_some(thread: threading.Thread) -> None:
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_some)
    sender = ThreadSender(
        FACTS, cast(Channel, OneChannel(service)), 3, permit=permit(), done=done, clock=lambda: NOW
    )
    if threads:
        sender.put(tasks(3))
        assert len(all_ended(sender, done, 3)) == 3
        sender.leave()
        sender.join()
    else:
        with pytest.raises(RuntimeError):
            sender.put(tasks(3))
    assert service.opened == service.closed == threads
