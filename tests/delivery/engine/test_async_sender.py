"""The child process keeps the barrier, never outlives its worker, and loses no outcome.

Messages that are sent in a row by callback end as they do one by one.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from time import monotonic
from typing import Any, cast
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.base import Sent
from channels.email.dkim.keys import RSA, SigningKey, generate
from channels.email.mail_message import MailMessage
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_session import SmtpSession
from channels.letter import Recipient
from common.clock import utcnow
from common.secrets import Sealed
from delivery.engine import child_client, claimer
from delivery.engine.async_connections import AsyncConnections
from delivery.engine.async_sender import AsyncSender
from delivery.engine.child_client import ChildProcess, keep_child_process, take_child_process
from delivery.engine.child_protocol import ChildTask, Permit
from delivery.engine.send_pass import send_due
from delivery.engine.send_task import ClaimedDelivery, ClaimedDestination, Done, PreparedLetter, SendTask
from delivery.models import Delivery, Lane
from tests.channels.dkim.verifying import record, verified
from tests.channels.email_letters import letter, message
from tests.delivery.background import sending, wait_until
from tests.delivery.ledger import a_lane, queued, states
from tests.factories import IssueFactory
from tests.servers.smtp_server import DROP, SmtpServer

ANSWERS = (
    ("mail", "550 5.7.1 not you"),
    ("rcpt", "450 4.2.0 try later"),
    ("rcpt", "550 5.1.1 no such user"),
    ("data", "451 4.3.0 not now"),
    ("message", "452 4.3.1 full"),
    ("message", "554 5.6.0 unwanted"),
    ("message", "421 4.3.2 closing"),
    ("taken", DROP),
)
LANE = Lane(pk=1, kind="email", account="default")
LETTER = letter()
QUIET = 0.2


@pytest.fixture
def process() -> Iterator[ChildProcess]:
    made = ChildProcess()
    made.say(Permit(time.monotonic()))
    yield made
    made.close()


def sender_over(process: ChildProcess, smtp: SmtpServer, width: int = 3) -> tuple[AsyncSender, Done]:
    done: Done = SimpleQueue()
    target = SmtpSettings("127.0.0.1", smtp.port)
    opened = partial(SmtpSession, target, helo="sender.example")
    made = AsyncSender(process, opened, width, done=done, on_narrow=print, clock=lambda: datetime.now(UTC))
    return made, done


def task(number: int, *, keys: tuple[SigningKey, ...] = ()) -> SendTask:
    to = ClaimedDestination("email", "a@example.test", "a@example.test", {}, Sealed(""), "")
    facts = (number, "issue", 1, 0, "example.test", 5, None, number, LANE, to, None)
    row = ClaimedDelivery(*facts, uuid4(), datetime.now(UTC))
    data = f"From: a@sender.example\r\nSubject: {number}\r\n\r\nHello.\r\n".encode()

    def compose(recipient: Recipient) -> MailMessage:
        return MailMessage("a@sender.example", f"r{number}@example.test", "", (data,), keys)

    prepared = PreparedLetter(LETTER, None, compose)
    return SendTask(row, prepared, Recipient(number, "", ""), is_carried=True)


def tasks(count: int) -> list[SendTask]:
    return [task(number) for number in range(count)]


def ended(done: Done, count: int, *, settled_by: AsyncSender | None = None) -> list[SendTask]:
    """Return that many tasks that come back; assert that no more follow at once.

    The next one of a connection is sent only when the one before is settled.
    """
    got: list[SendTask] = []
    while len(got) < count:
        got += (some := done.get(timeout=30))
        if settled_by:
            settled_by.settle(some)
    with pytest.raises(Empty):
        done.get(timeout=QUIET)
    assert len(got) == count
    return got


def test_a_delivery_that_is_claimed_again_while_it_is_on_its_way_ends_twice(
    process: ChildProcess, smtp: SmtpServer
) -> None:
    """Both have to come back: a pass ends only when nothing is in flight."""
    ours, done = sender_over(process, smtp)
    first, again = task(1), task(1)
    ours.put([first])
    ours.put([again])
    assert set(map(id, ended(done, 2, settled_by=ours))) == {id(first), id(again)}
    ours.leave()
    ours.join()
    assert smtp.recipients == ["r1@example.test"] * 2


def test_when_the_process_dies_all_that_it_had_comes_back_as_not_begun(
    process: ChildProcess, smtp: SmtpServer
) -> None:
    smtp.state.delay = 5
    ours, done = sender_over(process, smtp)
    ours.put(tasks(8))
    wait_until(lambda: smtp.connections == 3)
    os.kill(process.pid, signal.SIGKILL)
    got = ended(done, 8)
    assert {(one.outcome, one.begun, one.is_carried) for one in got} == {(None, False, False)}
    assert not process.is_alive
    assert ours.stopped
    ours.put([task(9)])
    assert ended(done, 1)[0].outcome is None


def test_without_a_fresh_renewal_nothing_is_begun(process: ChildProcess, smtp: SmtpServer) -> None:
    process.say(Permit(time.monotonic() - 25))
    ours, done = sender_over(process, smtp)
    ours.put(tasks(2))
    assert [one.outcome for one in ended(done, 2)] == [None, None]
    assert not smtp.messages


def test_when_the_pass_ends_what_was_not_announced_comes_back(
    process: ChildProcess, smtp: SmtpServer
) -> None:
    """The server waits for the text of the next one already, so that one is still sent."""
    ours, done = sender_over(process, smtp, width=1)
    ours.put(tasks(4))
    first = ended(done, 1)
    process.say(Permit(time.monotonic(), is_finishing=True))
    assert [one.outcome for one in ended(done, 2)] == [None, None]
    ours.settle(first)
    assert isinstance(ended(done, 1)[0].outcome, Sent)
    assert len(smtp.messages) == 2


def test_a_lane_that_is_opened_once_more_while_it_closes_is_another(
    process: ChildProcess, smtp: SmtpServer
) -> None:
    first, done = sender_over(process, smtp)
    second, other_done = sender_over(process, smtp)
    first.put([task(1)])
    ended(done, 1, settled_by=first)
    first.leave()
    second.put([task(2)])
    ended(other_done, 1, settled_by=second)
    second.leave()
    first.join()
    second.join()
    assert len(smtp.messages) == 2


def test_messages_are_signed_beside_sending_also_when_a_process_that_signs_is_gone(
    process: ChildProcess, smtp: SmtpServer
) -> None:
    key, other = (SigningKey("sender.example", name, generate(RSA)) for name in ("s1", "s2"))
    ours, done = sender_over(process, smtp)
    ours.put([task(1, keys=(key,)), task(2, keys=(key, other))])
    ended(done, 2, settled_by=ours)
    assert process._signers
    for signer in process._signers._all:
        signer.process.kill()
    ours.put([task(3, keys=(other,))])
    ended(done, 1, settled_by=ours)
    ours.put([task(4, keys=(key,))])
    ended(done, 1, settled_by=ours)
    records = [record(key), record(other)]
    signed = sorted((one.recipient[:2], verified(one.data, records)) for one in smtp.messages)
    assert signed == [("r1", [True]), ("r2", [True] * 2), ("r3", [True]), ("r4", [True])]


@pytest.mark.slow
def test_a_worker_that_is_killed_takes_its_loop_process_with_it(tmp_path: object) -> None:
    begin = (
        "import django; django.setup(); import time;from delivery.engine.child_client import ChildProcess;"
        " made = ChildProcess();print(made.pid, flush=True); time.sleep(60)"
    )
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
    worker = subprocess.Popen([sys.executable, "-c", begin], stdout=subprocess.PIPE, env=environment)
    assert worker.stdout is not None
    pid = int(worker.stdout.readline())
    worker.kill()
    worker.wait()
    wait_until(lambda: not is_running(pid))


def is_running(pid: int) -> bool:
    try:
        return "engine.child" in open(f"/proc/{pid}/cmdline").read()
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_pass_whose_loop_process_dies_gives_all_back_and_the_next_one_sends_it(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimer, "has_much", lambda lane, now: True)
    smtp.state.delay = 0.05
    queued(60, issue=IssueFactory(), lane=a_lane(concurrency=3))
    mortal = ChildProcess()
    processes = [mortal]
    monkeypatch.setattr(
        claimer, "take_child_process", lambda: processes.pop() if processes else take_child_process()
    )
    with sending() as report:
        smtp.wait_for(6)
        os.kill(mortal.pid, signal.SIGKILL)
    assert report.result().sent < 60
    assert set(states()) == {"sent", "queued"}
    assert not Delivery.objects.exclude(lease_token=None).exists()
    send_due()
    assert states() == {"sent": 60}
    assert len(set(smtp.recipients)) == 60
    assert len(smtp.recipients) - 60 <= 3


@pytest.mark.slow
def test_the_process_is_kept_for_the_next_pass_and_ends_when_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    child_client.end_idle_child_process(idle_for=0)
    first = take_child_process()
    keep_child_process(first)
    assert take_child_process() is first
    other = take_child_process()
    assert other is not first
    keep_child_process(first)
    keep_child_process(other)
    assert not is_running(other.pid)
    child_client.end_idle_child_process()
    assert is_running(first.pid)
    child_client.end_idle_child_process(idle_for=0)
    assert not is_running(first.pid)


def test_of_the_next_message_no_text_leaves_before_the_outcome_is_durable(
    process: ChildProcess, smtp: SmtpServer
) -> None:
    """Its envelope may be sent: it is pipelined with the end of the message before."""
    sender, done = sender_over(process, smtp, width=1)
    sender.put(tasks(3))
    first = ended(done, 1)
    assert smtp.recipients == ["r0@example.test"]
    sender.settle(first)
    second = ended(done, 1)
    assert smtp.recipients == ["r0@example.test", "r1@example.test"]
    sender.settle(second)
    ended(done, 1, settled_by=sender)
    sender.leave()
    sender.join()
    assert smtp.connections == 1


def test_a_message_that_was_only_announced_comes_back_when_its_lease_is_lost(
    process: ChildProcess, smtp: SmtpServer
) -> None:
    sender, done = sender_over(process, smtp, width=1)
    sender.put(tasks(2))
    first = ended(done, 1)
    process.say(Permit(time.monotonic(), lost=frozenset({1})))
    sender.settle(first)
    (given_back,) = ended(done, 1)
    assert given_back.outcome is None
    assert not given_back.begun
    sender.settle([given_back])
    sender.put([task(2)])
    third = ended(done, 1)
    assert isinstance(third[0].outcome, Sent)
    sender.settle(third)
    sender.leave()
    sender.join()
    assert smtp.recipients == ["r0@example.test", "r2@example.test"]


class OneByOne(SmtpSession):
    # So that it is no StreamingSession.
    stream = cast(Any, None)


def outcomes(session: type[SmtpSession], answers: Sequence[tuple[str, str] | None], width: int) -> Any:
    """Send a message for each answer; return what became of it, and how often it arrived."""
    with SmtpServer() as server:
        for number, answer in enumerate(answers):
            if answer is not None:
                server.answer(*answer, recipient=f"r{number}@example.test")
        tasks = [
            ChildTask(1, number, number, 5, "", message(f"r{number}@example.test"))
            for number in range(len(answers))
        ]
        asyncio.run(_sent(partial(session, SmtpSettings("127.0.0.1", server.port), helo="x"), tasks, width))
        ends = [(type(task.outcome), getattr(task.outcome, "text", ""), task.begun) for task in tasks]
        return ends, [server.recipients.count(task.mail.recipient) for task in tasks]


async def _sent(session: Any, tasks: Sequence[ChildTask], width: int) -> None:
    left, loop = len(tasks), asyncio.get_running_loop()
    all_ended = loop.create_future()

    def on_end(ended: Sequence[ChildTask]) -> None:
        nonlocal left
        left -= len(ended)
        # As if recording took a moment.
        loop.call_later(0.001, connections.release, ended)
        if not left:
            all_ended.set_result(None)

    permit = Permit(monotonic())
    connections = AsyncConnections(
        1, session, width, permit=permit, on_end=on_end, on_narrow=print, clock=utcnow
    )
    connections.take(tasks)
    async with asyncio.timeout(20):
        await all_ended
        connections.leave()
        await connections.all_closed(5)


def test_only_the_first_of_usual_messages_takes_the_slow_way(monkeypatch: pytest.MonkeyPatch) -> None:
    slow, send = list[str](), SmtpSession.send

    async def sends(self: SmtpSession, message: MailMessage, **others: Any) -> Any:
        slow.append(message.recipient)
        return await send(self, message, **others)

    monkeypatch.setattr(SmtpSession, "send", sends)
    assert outcomes(SmtpSession, [None] * 6, 1)[1] == [1] * 6
    assert slow == ["r0@example.test"]


@pytest.mark.slow
@given(st.lists(st.one_of(st.none(), st.none(), st.sampled_from(ANSWERS)), min_size=3, max_size=8))
def test_messages_in_a_row_end_as_one_by_one(answers: list[tuple[str, str] | None]) -> None:
    assert outcomes(SmtpSession, answers, 1) == outcomes(OneByOne, answers, 1)


@pytest.mark.slow
@given(
    st.lists(st.one_of(st.none(), st.sampled_from([*ANSWERS, ("rcpt", DROP), ("data", DROP)])), min_size=4),
    st.integers(1, 3),
)
def test_no_message_in_a_row_arrives_twice(answers: list[tuple[str, str] | None], width: int) -> None:
    _, arrived = outcomes(SmtpSession, answers, width)
    assert max(arrived) <= 1
