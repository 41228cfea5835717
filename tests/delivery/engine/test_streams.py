"""Messages that are sent in a row by callback end as they do one by one."""

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.mail_message import MailMessage
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_session import SmtpSession
from common.clock import utcnow
from delivery.engine.async_connections import AsyncConnections
from delivery.engine.child_protocol import ChildTask, Permit
from tests.channels.email_letters import message
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
