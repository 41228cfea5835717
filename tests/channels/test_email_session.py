"""Mail servers over real sockets, and the message's outcome."""

import socket
import time
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy

import pytest

from channels.base import Ambiguous, Holdup, Permanent, Sent, Temporary
from channels.email.session import BlockingSmtpSession
from channels.email.smtp_connection import MAX_REPLY
from tests.channels.email_letters import IMPATIENT, NOW, PATIENT, message, send, session
from tests.examples import some_now
from tests.servers.raw_smtp import RawServer
from tests.servers.smtp_server import DROP, STALL, SmtpServer

ADA, BEN = "ada@example.test", "ben@example.test"
REFUSALS = [
    # stage, reply, outcome, whether it stops the lane
    ("mail", "450 4.3.2 not now", Temporary, False),
    ("mail", "421 4.3.2 shutting down", Temporary, True),
    ("mail", "550 5.1.8 sender refused", Temporary, False),
    ("mail", "553 5.7.1 sender not owned by user", Temporary, False),
    ("mail", "503 5.5.1 sender already specified", Temporary, False),
    ("mail", "530 5.7.0 must issue STARTTLS first", Temporary, True),
    ("mail", "552 5.3.4 too big", Temporary, False),
    ("rcpt", "450 4.2.0 mailbox busy", Temporary, False),
    ("rcpt", "452 4.2.2 over quota", Temporary, False),
    ("rcpt", "421 4.7.28 rate limit", Temporary, True),
    ("rcpt", "451 4.7.1 slow down", Temporary, True),
    ("rcpt", "451 4.7.1 Greylisting in action", Temporary, False),
    ("rcpt", "454 Throttling failure", Temporary, True),
    ("rcpt", "550 5.1.1 no such user", Permanent, False),
    ("rcpt", "550 5.1.10 null MX", Permanent, False),
    ("rcpt", "553 5.1.3 bad address syntax", Permanent, False),
    ("rcpt", "550 5.1.8 bad sender", Temporary, False),
    ("rcpt", "550 no such user", Permanent, False),
    ("rcpt", "550 5.11.1 no such code", Permanent, False),
    ("rcpt", "552 5.2.2 mailbox full", Permanent, False),
    ("rcpt", "550 5.7.1 policy", Permanent, False),
    ("rcpt", "554 5.7.1 <ada@example.test>: Relay access denied", Temporary, True),
    ("rcpt", "530 5.7.0 Authentication required", Temporary, True),
    ("data", "451 4.3.0 queue file", Temporary, False),
    ("data", "421 4.3.0 going", Temporary, True),
    ("data", "554 5.5.1 no valid recipients", Permanent, False),
    ("message", "451 4.3.0 later", Temporary, False),
    ("message", "452 4.7.0 too many", Temporary, True),
    ("message", "421 4.7.0 rate", Temporary, True),
    ("message", "554 5.7.1 looks like spam", Permanent, False),
    ("message", "550 5.1.1 no such user after all", Permanent, False),
]


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        yield server


@pytest.fixture
def client(server: SmtpServer) -> Iterator[BlockingSmtpSession]:
    client = session(server.url)
    yield client
    client.close()


def test_a_message_arrives_as_composed(server: SmtpServer, client: BlockingSmtpSession) -> None:
    mail = message()
    outcome = send(client, mail)
    assert outcome == Sent(remote_id="250 2.0.0 Ok: queued as 00000001")
    [taken] = server.messages
    assert (taken.sender, taken.recipient) == ("letters@example.org", ADA)
    assert taken.data == mail.dated(NOW)
    assert f"SIZE={len(taken.data)}" in taken.options


@pytest.mark.parametrize("text", [".", "..", ".\n.\n..\n.x", "a\n.\n", "\n.\nQUIT\n", "From x\n>From y"])
def test_dots_arrive_as_they_are(server: SmtpServer, client: BlockingSmtpSession, text: str) -> None:
    mail = message(text=text, html="")
    assert isinstance(send(client, mail), Sent)
    assert isinstance(send(client, mail), Sent)
    assert [taken.data for taken in server.messages] == [mail.dated(NOW)] * 2


def test_messages_share_a_connection(server: SmtpServer, client: BlockingSmtpSession) -> None:
    for _ in range(5):
        assert isinstance(send(client), Sent)
    assert (len(server.messages), server.connections) == (5, 1)


def test_nothing_is_connected_before_the_first_message(server: SmtpServer) -> None:
    session(server.url).close()
    assert server.connections == 0


def test_a_connection_carries_no_more_than_its_share(server: SmtpServer, client: BlockingSmtpSession) -> None:
    client.pipeline.messages_per_connection = 2
    for _ in range(5):
        assert isinstance(send(client), Sent)
    assert [taken.connection for taken in server.messages] == [1, 1, 2, 2, 3]


def test_a_connection_closed_between_messages_costs_nothing(
    server: SmtpServer, client: BlockingSmtpSession
) -> None:
    send(client)
    server.drop_connections()
    assert isinstance(send(client), Sent)
    assert (len(server.messages), server.connections) == (2, 2)


def test_a_421_between_messages_costs_nothing(server: SmtpServer, client: BlockingSmtpSession) -> None:
    send(client)
    server.answer("mail", "421 4.4.2 idle for too long", times=1)
    assert isinstance(send(client), Sent)
    assert (len(server.messages), server.connections) == (2, 2)


def test_close_leaves_no_connection_behind(server: SmtpServer, client: BlockingSmtpSession) -> None:
    send(client)
    client.close()
    server.wait_until_idle()


@pytest.mark.parametrize(
    ("stage", "reply", "kind", "mark"), some_now(REFUSALS), ids=[f"{s}: {r}" for s, r, *_ in REFUSALS]
)
def test_a_refusal_is_told_in_the_servers_words_and_harms_no_other(
    server: SmtpServer, client: BlockingSmtpSession, stage: str, reply: str, kind: type, mark: bool
) -> None:
    server.answer(stage, reply, times=1)
    outcome = send(client)
    assert type(outcome) is kind
    assert reply in outcome.text  # type: ignore[union-attr]
    assert getattr(outcome, "stops_lane", False) is mark
    assert isinstance(send(client, message(BEN)), Sent)
    assert server.recipients == [BEN]


def test_a_recipient_is_refused_and_the_connection_kept(
    server: SmtpServer, client: BlockingSmtpSession
) -> None:
    server.answer("rcpt", "550 5.1.1 no such user", recipient=ADA)
    assert isinstance(send(client), Permanent)
    assert isinstance(send(client, message(BEN)), Sent)
    assert server.connections == 1


@pytest.mark.parametrize("stage", ["mail", "rcpt", "data"])
def test_a_connection_lost_before_the_message_is_temporary(
    server: SmtpServer, client: BlockingSmtpSession, stage: str
) -> None:
    server.answer(stage, DROP, times=1)
    outcome = send(client)
    assert isinstance(outcome, Temporary)
    assert "connection was lost" in outcome.text
    assert isinstance(send(client, message(BEN)), Sent)
    assert server.recipients == [BEN]


@pytest.mark.parametrize(("stage", "reply"), [("message", DROP), ("taken", DROP), ("taken", STALL)])
def test_without_an_answer_to_the_final_dot_nobody_knows(
    server: SmtpServer, client: BlockingSmtpSession, stage: str, reply: str
) -> None:
    server.answer(stage, reply, times=1)
    client.pipeline.timeouts = replace(PATIENT, message=0.4)
    assert isinstance(send(client), Ambiguous)
    client.pipeline.timeouts = PATIENT
    assert isinstance(send(client, message(BEN)), Sent)


@pytest.mark.slow
def test_a_server_that_closes_within_a_big_message_did_not_get_it() -> None:
    big = message(text="A line of a very long letter.\n" * 500_000)
    with RawServer({}, hangs_up_within_data=True) as server:
        outcome = send(session(server.url), big)
    assert isinstance(outcome, Temporary)
    assert "the end of the message" in outcome.text


def test_a_silent_server_is_left_in_time(server: SmtpServer) -> None:
    client = session(server.url, timeouts=IMPATIENT)
    server.answer("rcpt", STALL)
    begun = time.monotonic()
    outcome = send(client)
    assert isinstance(outcome, Temporary)
    assert "didn’t answer in time" in outcome.text
    assert time.monotonic() - begun < 4


def test_a_port_where_nobody_listens_stops_the_lane() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    outcome = send(session(f"smtp://127.0.0.1:{port}"))
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert f"127.0.0.1:{port}" in outcome.text
    assert "refused" in outcome.text


def test_a_host_without_an_address_stops_the_lane() -> None:
    for host in ("nowhere.invalid", "a" * 70 + ".example.test", "a..b"):
        outcome = send(session(f"smtp://{host}:25"))
        assert isinstance(outcome, Temporary)
        assert outcome.stops_lane


@pytest.mark.parametrize(
    ("stage", "reply"),
    [
        ("connect", "421 4.7.0 too many connections"),
        ("connect", "554 5.7.1 not welcome"),
        ("connect", DROP),
        ("ehlo", "421 going down"),
        ("ehlo", DROP),
    ],
)
def test_a_server_that_is_not_ready_stops_the_lane(
    server: SmtpServer, client: BlockingSmtpSession, stage: str, reply: str
) -> None:
    server.answer(stage, reply)
    outcome = send(client)
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert str(server.port) in outcome.text
    server.forget_answers()
    assert isinstance(send(client), Sent)


@pytest.mark.parametrize("verb", ["CONNECT", "EHLO", "MAIL", "RCPT", "DATA"])
@pytest.mark.parametrize(
    "reply",
    [b"HTTP/1.1 400 Bad Request\r\n", b"\r\n", b"250\xff\x00\r\n", b"999 \r\n", b"x" * (MAX_REPLY + 9)],
)
def test_what_is_no_smtp_is_temporary(verb: str, reply: bytes) -> None:
    # After an empty line more is waited for.
    with RawServer({verb: reply, "HELO": reply}, patience=2) as server:
        outcome = send(session(server.url))
    assert isinstance(outcome, Temporary)
    assert outcome.text.isprintable()
    assert len(outcome.text) < 800


@pytest.mark.parametrize("reply", [b"250-on\r\n" * 20_000, b"250 " + b"x" * MAX_REPLY])
def test_a_reply_without_an_end_is_not_waited_for(reply: bytes) -> None:
    with RawServer({"RCPT": reply}) as server:
        outcome = send(session(server.url))
    assert isinstance(outcome, Temporary)
    assert "a response that isn’t SMTP" in outcome.text


def test_a_dialogue_out_of_step_is_not_gone_on_with() -> None:
    with RawServer({"RCPT": b"what?\r\n250 ok\r\n"}) as server:
        client = session(server.url)
        assert isinstance(send(client), Temporary)
        server.script["RCPT"] = b"250 ok\r\n"
        assert isinstance(send(client), Sent)
        client.close()
    assert server.verbs.count("CONNECT") == 2


@pytest.mark.parametrize("reply", [b"ok\r\n", b"354 again\r\n", b"250-endless\r\n" * 9000, b"25"])
def test_an_answer_to_the_message_that_is_none_is_ambiguous(reply: bytes) -> None:
    with RawServer({".": reply}) as server:
        client = session(server.url, timeouts=replace(PATIENT, message=0.4))
        assert isinstance(send(client), Ambiguous)


def test_what_a_server_says_is_kept_short_and_printable() -> None:
    lines = b"".join(b"550-5.1.1 \x1b[31m" + b"no " * 100 + b"\xff\r\n" for _ in range(20))
    with RawServer({"RCPT": lines + b"550 5.1.1 end\r\n"}) as server:
        outcome = send(session(server.url))
    assert isinstance(outcome, Permanent)
    assert outcome.status == "5.1.1"
    assert outcome.text.startswith("550 5.1.1 ")
    assert outcome.text.isprintable()
    assert len(outcome.text) <= 500


def test_a_server_without_ehlo_is_greeted_with_helo() -> None:
    with RawServer({"EHLO": b"502 unknown\r\n"}) as server:
        assert isinstance(send(session(server.url)), Sent)
    assert "HELO" in server.verbs


def test_a_letter_beyond_the_servers_size_is_not_sent_and_waits() -> None:
    with SmtpServer(size_limit=2000) as server:
        client = session(server.url)
        outcome = send(client, message(text="long " * 1000))
        assert isinstance(outcome, Temporary)
        assert outcome.holdup is Holdup.LETTER
        assert "2000" in outcome.text
        assert isinstance(send(client), Sent)
        client.close()


def test_smtputf8_is_asked_for_only_when_needed(server: SmtpServer, client: BlockingSmtpSession) -> None:
    send(client, message("žofie@example.test"))
    send(client, message())
    assert ["SMTPUTF8" in taken.options for taken in server.messages] == [True, False]
    assert server.recipients == ["žofie@example.test", ADA]


def test_an_international_address_fails_where_the_server_cannot_take_it() -> None:
    with SmtpServer(utf8=False) as server:
        client = session(server.url)
        outcome = send(client, message("žofie@example.test"))
        assert isinstance(outcome, Permanent)
        assert "SMTPUTF8" in outcome.text
        assert isinstance(send(client), Sent)
        client.close()


def test_what_arrives_parses_back(server: SmtpServer, client: BlockingSmtpSession) -> None:
    text = "Žluťoučký kůň 🦄\n" + "x" * 3000 + "\n.\nEnd"
    assert isinstance(send(client, message(text=text, subject="Žluť " * 20)), Sent)
    mail = message_from_bytes(server.messages[0].data, policy=policy.default)
    assert mail["Subject"] == ("Žluť " * 20).strip()
    assert mail.get_body(("plain",)).get_content().splitlines() == text.split("\n")  # type: ignore[union-attr]
