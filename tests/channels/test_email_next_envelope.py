"""The next envelope is pipelined with the end of a message (RFC 2920 §3.1), but not its text."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.email import smtp_session
from channels.email.account_url import parse_email_url
from channels.email.mail_message import MailMessage
from channels.email.smtp_login import SmtpSettings
from channels.email.smtp_session import SmtpSession
from tests.channels.email_letters import NOW, PATIENT, message
from tests.servers.raw_smtp import OddServer, RawServer, Reply

ADA, BEN, CLEO = (message(f"{name}@example.test") for name in ("ada", "ben", "cleo"))
OFFERED = {"EHLO": b"250-mx.example.test\r\n250 PIPELINING\r\n"}


@pytest.fixture(autouse=True)
def _servers_are_not_known_yet() -> Iterator[None]:
    smtp_session._ONE_AT_A_TIME.clear()
    yield
    smtp_session._ONE_AT_A_TIME.clear()


def by_turns(*replies: Reply) -> Callable[[str], Reply]:
    """Return these replies, one each time; then always the last one."""
    left = list(replies)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def sends(server: RawServer, *mails: MailMessage, reply: float = PATIENT.reply) -> list[Outcome]:
    """Send the mails, each with the next one known to the session; return the outcomes."""

    async def talk() -> list[Outcome]:
        session, left = session_for(server, reply), list(mails)
        outcomes = []
        while left:
            mail = left.pop(0)
            outcomes.append(await session.send(mail, now=NOW, following=lambda: left[0] if left else None))
        await session.close()
        return outcomes

    return asyncio.run(talk())


def session_for(server: RawServer, reply: float = PATIENT.reply) -> SmtpSession:
    target = parse_email_url(server.url)
    assert isinstance(target, SmtpSettings)
    timeouts = replace(PATIENT, reply=reply, quit=0.1)
    return SmtpSession(target, helo="letters.example.org", timeouts=timeouts)


def texts(server: RawServer) -> list[bytes]:
    """Return the texts that the server got."""
    return [text for text in server.data if text]


def wire_form(*mails: MailMessage) -> list[bytes]:
    return [mail.dated(NOW).replace(b"\r\n.", b"\r\n..") for mail in mails]


def test_the_next_envelope_goes_with_the_end_of_a_message() -> None:
    with OddServer(OFFERED) as server:
        assert all(isinstance(outcome, Sent) for outcome in sends(server, ADA, BEN, CLEO))
    assert texts(server) == wire_form(ADA, BEN, CLEO)
    with_end = [chunk for chunk in server.chunks if b"\r\n.\r\nMAIL FROM" in chunk]
    assert [chunk.count(b"\r\nDATA\r\n") for chunk in with_end] == [1, 1]
    assert server.verbs[-1] == "QUIT"


def test_without_the_offer_nothing_goes_ahead() -> None:
    with OddServer({}) as server:
        assert all(isinstance(outcome, Sent) for outcome in sends(server, ADA, BEN))
    assert not [chunk for chunk in server.chunks if b".\r\nMAIL" in chunk]


def test_a_message_whose_envelope_alone_was_said_reaches_nobody() -> None:
    async def leave(session: SmtpSession) -> None:
        assert isinstance(await session.send(ADA, now=NOW, following=lambda: BEN), Sent)
        await session.close()

    with RawServer(OFFERED) as server:
        asyncio.run(leave(session_for(server)))
    assert texts(server) == wire_form(ADA)


def test_another_message_than_the_one_announced_goes_over_a_new_connection() -> None:
    async def change(session: SmtpSession) -> None:
        await session.send(ADA, now=NOW, following=lambda: BEN)
        assert isinstance(await session.send(CLEO, now=NOW), Sent)
        await session.close()

    with RawServer(OFFERED) as server:
        asyncio.run(change(session_for(server)))
    assert texts(server) == wire_form(ADA, CLEO)
    assert server.verbs.count("CONNECT") == 2


def test_a_server_that_waited_long_for_the_announced_text_hears_of_it_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It may have timed out, and nobody would know whether it accepted the next commands."""
    monkeypatch.setattr(smtp_session, "ANNOUNCED_FOR", 0.0)
    with RawServer(OFFERED) as server:
        assert all(isinstance(outcome, Sent) for outcome in sends(server, ADA, BEN))
    assert texts(server) == wire_form(ADA, BEN)
    assert server.verbs.count("CONNECT") == 2


def test_a_refused_message_leaves_the_announced_one_its_turn() -> None:
    script = OFFERED | {".": by_turns(b"550 5.7.1 spam\r\n", b"250 as 2\r\n")}
    with RawServer(script) as server:
        refused, taken = sends(server, ADA, BEN)
    assert not isinstance(refused, Sent)
    assert taken == Sent(remote_id="250 as 2")
    assert texts(server) == wire_form(ADA, BEN)
    assert "RSET" not in server.verbs


def test_a_refused_recipient_of_the_announced_message_harms_no_other() -> None:
    script = OFFERED | {
        "RCPT": by_turns(b"250 ok\r\n", b"550 5.1.1 unknown\r\n", b"250 ok\r\n"),
        "DATA": by_turns(b"354 go\r\n", b"503 no recipient\r\n", b"354 go\r\n"),
    }
    with RawServer(script) as server:
        outcomes = sends(server, ADA, BEN, CLEO)
    assert [type(outcome) for outcome in outcomes] == [Sent, Permanent, Sent]
    assert texts(server) == wire_form(ADA, CLEO)


@pytest.mark.parametrize("goes", [b"421 4.3.2 enough\r\n", None])
def test_a_server_that_goes_after_a_message_costs_the_announced_one_nothing(goes: Reply) -> None:
    with RawServer(OFFERED | {"MAIL": by_turns(b"250 ok\r\n", goes, b"250 ok\r\n")}) as server:
        assert all(isinstance(outcome, Sent) for outcome in sends(server, ADA, BEN))
    assert texts(server) == wire_form(ADA, BEN)
    assert server.verbs.count("CONNECT") == 2


def test_without_an_answer_to_the_message_nobody_knows_and_the_announced_one_goes() -> None:
    with RawServer(OFFERED | {".": by_turns(None, b"250 ok\r\n")}) as server:
        outcomes = sends(server, ADA, BEN)
    assert [type(outcome) for outcome in outcomes] == [Ambiguous, Sent]
    assert texts(server) == wire_form(ADA, BEN)


@pytest.mark.parametrize("deaf", [b"503 5.5.1 out of turn\r\n", b"554 5.5.0 synchronization error\r\n", b""])
def test_a_server_that_bears_nothing_behind_a_message_gets_each_alone(deaf: bytes) -> None:
    """Each arrives once, none is delayed, and the server gets no pipelined envelope any more."""
    mail = by_turns(b"250 ok\r\n", deaf, b"250 ok\r\n")
    rest = by_turns(b"250 ok\r\n", deaf and b"503 no\r\n", b"250 ok\r\n")
    data = by_turns(b"354 go\r\n", deaf and b"503 no\r\n", b"354 go\r\n")
    with OddServer(OFFERED | {"MAIL": mail, "RCPT": rest, "DATA": data}) as server:
        outcomes = sends(server, ADA, BEN, CLEO, reply=0.5)
    assert [type(outcome) for outcome in outcomes] == [Sent, Sent, Sent]
    assert texts(server) == wire_form(ADA, BEN, CLEO)
    assert len([chunk for chunk in server.chunks if b".\r\nMAIL" in chunk]) == 1


def test_one_answer_too_many_never_makes_the_announced_letter_sent() -> None:
    ahead = by_turns(b"250 as 1\r\n250 again\r\n", b"250 as 2\r\n")
    with RawServer(OFFERED | {".": ahead}) as server:
        first, second = sends(server, ADA, BEN)
    assert isinstance(first, Sent)
    assert type(second) is Temporary or wire_form(BEN)[0] in server.data
