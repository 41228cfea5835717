"""Pipelining (RFC 2920): many commands at once, and the message's outcome for any response."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.email.mail_message import MailMessage
from channels.email.smtp_connection import MAX_REPLY
from tests.channels.email_certificates import make_certificate, server_context, trusting
from tests.channels.email_letters import IMPATIENT, NOW, PATIENT, message, send, session
from tests.examples import some_now
from tests.servers.raw_smtp import OddServer, RawServer, Reply
from tests.servers.smtp_server import DROP, STALL, SmtpServer

ADA, BEN = "ada@example.test", "ben@example.test"
PIPELINING = b"250-mx.example.test\r\n250-SIZE 0\r\n250 PIPELINING\r\n"
OFFERED = {"EHLO": PIPELINING}
Script = Mapping[str, Reply | Callable[[str], Reply]]
ENVELOPE = ["MAIL", "RCPT", "DATA"]
both = pytest.mark.parametrize("offer", [PIPELINING, b"250 mx.example.test\r\n"], ids=["pipelined", "plain"])
BIG = message(text="A line of a very long letter.\n" * 200_000, html="")


def once(reply: Reply, then: Reply = b"250 ok\r\n") -> Callable[[str], Reply]:
    """Return that reply the first time, then the other one."""
    replies = [reply]
    return lambda _: replies.pop() if replies else then


def as_sent(mail: MailMessage) -> bytes:
    return mail.dated(NOW).replace(b"\r\n.", b"\r\n..")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


# --- what is said


def test_the_envelope_is_said_at_once_where_the_server_offers_it() -> None:
    with OddServer(OFFERED) as server:
        client = session(server.url)
        assert isinstance(send(client), Sent)
        assert isinstance(send(client), Sent)
        client.close()
    envelopes = [chunk for chunk in server.chunks if chunk.startswith(b"MAIL")]
    assert [chunk.count(b"\r\n") for chunk in envelopes] == [3, 3]
    assert envelopes[0].endswith(b"DATA\r\n")


def test_without_the_offer_each_command_waits_for_its_answer() -> None:
    with OddServer({}) as server:
        client = session(server.url)
        assert isinstance(send(client), Sent)
        assert isinstance(send(client, message(BEN)), Sent)
        client.close()
    said = [chunk for chunk in server.chunks if chunk[:4].strip().decode("ascii", "replace") in ENVELOPE]
    assert [chunk[:4] for chunk in said] == [b"MAIL", b"RCPT", b"DATA"] * 2
    assert {chunk.count(b"\n") for chunk in said} == {1}


@both
def test_nothing_of_the_letter_is_said_before_the_server_asks_for_it(offer: bytes) -> None:
    with OddServer({"EHLO": offer, "DATA": b"451 4.3.0 not now\r\n"}) as server:
        client = session(server.url)
        assert isinstance(send(client), Temporary)
        client.close()
    assert b"Subject" not in b"".join(server.chunks)


@both
def test_goodbye_is_said_at_the_end_and_between_connections(offer: bytes) -> None:
    with RawServer({"EHLO": offer}) as server:
        client = session(server.url, messages_per_connection=2)
        for _ in range(5):
            assert isinstance(send(client), Sent)
        client.close()
    assert (server.verbs.count("CONNECT"), server.verbs.count("QUIT")) == (3, 3)
    assert server.verbs[-1] == "QUIT"
    assert len(server.data) == 5


def test_refused_messages_count_towards_a_connections_share() -> None:
    with RawServer({**OFFERED, "RCPT": b"550 5.1.1 nobody\r\n", "DATA": b"503 5.5.1 no\r\n"}) as server:
        client = session(server.url, messages_per_connection=2)
        assert [type(send(client)) for _ in range(4)] == [Permanent] * 4
        client.close()
    assert server.verbs.count("CONNECT") == 2


# --- how answers come


def test_all_answers_in_one_packet() -> None:
    with RawServer(OFFERED, in_one_packet=True) as server:
        client = session(server.url)
        assert [type(send(client, message(to))) for to in (ADA, BEN)] == [Sent, Sent]
        client.close()
    assert server.data == [as_sent(message(ADA)), as_sent(message(BEN))]
    assert server.verbs.count("CONNECT") == 1


@both
def test_answers_octet_by_octet(offer: bytes) -> None:
    replies = {"EHLO": offer, "MAIL": b"250-2.1.0 yes\r\n250 2.1.0 yes\r\n", ".": b"250 2.0.0 as 12\r\n"}
    with OddServer(replies, pause=0.0005) as server:
        client = session(server.url)
        assert [send(client) for _ in range(2)] == [Sent(remote_id="250 2.0.0 as 12")] * 2
        client.close()
    assert server.data == [as_sent(message())] * 2


@both
def test_answers_whose_lines_end_in_a_mere_line_feed(offer: bytes) -> None:
    replies = {"EHLO": offer.replace(b"\r", b""), "MAIL": b"250 ok\n", ".": b"250 as 1\n"}
    with RawServer(replies) as server:
        client = session(server.url)
        assert send(client) == Sent(remote_id="250 as 1")
        client.close()


@pytest.mark.parametrize("verb", ["EHLO", "MAIL", "RCPT", "DATA", "."])
@pytest.mark.parametrize("reply", [b"250-" + b"a" * 70_000, b"250-on\r\n" * 12_000], ids=["line", "lines"])
def test_an_answer_of_seventy_kilobytes_is_not_waited_for(verb: str, reply: bytes) -> None:
    assert len(reply) > MAX_REPLY
    with RawServer({**OFFERED, verb: reply}) as server:
        begun = time.monotonic()
        outcome = send(session(server.url))
    assert type(outcome) is (Ambiguous if verb == "." else Temporary)
    assert time.monotonic() - begun < 1.5
    assert len(outcome.text) < 800


@both
@pytest.mark.parametrize("verb", ["CONNECT", "EHLO", *ENVELOPE, "."])
def test_an_answer_that_drips_is_not_waited_for_longer_than_one_that_does_not_come(
    offer: bytes, verb: str
) -> None:
    slow = b"250-" + b"slow " * 50
    with OddServer({"EHLO": offer, verb: slow}, pause=0.02) as server:
        server.pause = -1 if verb not in ("CONNECT", "EHLO") else 0.02
        client = session(server.url, timeouts=IMPATIENT)
        server.script[verb] = lambda _: server.slowly(0.02, slow)
        begun = time.monotonic()
        outcome = send(client)
        assert time.monotonic() - begun < 2
    assert type(outcome) is (Ambiguous if verb == "." else Temporary)


# --- refusals


def refused(script: Script, *, in_one_packet: bool = False) -> tuple[RawServer, Outcome]:
    """Refuse the first letter by the script; send the next one over the same connection."""
    with RawServer({**OFFERED, **script}, in_one_packet=in_one_packet) as server:
        client = session(server.url)
        outcome = send(client)
        assert isinstance(send(client, message(BEN)), Sent)
        client.close()
    assert server.verbs.count("CONNECT") == 1
    assert server.data[-1] == as_sent(message(BEN))
    return server, outcome


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("end", [b"554 5.5.1 no valid recipients\r\n", b"250 ok\r\n", b"451 later\r\n"])
def test_a_server_that_wants_data_after_all_gets_an_empty_message(end: bytes, together: bool) -> None:
    script = {"MAIL": once(b"450 4.3.2 not now\r\n"), "RCPT": once(b"503 5.5.1 MAIL first\r\n")}
    server, outcome = refused({**script, ".": once(end)}, in_one_packet=together)
    assert outcome == Temporary("450 4.3.2 not now", status="4.3.2")
    assert server.data[0] == b""
    assert server.verbs[2:8] == ["MAIL", "RCPT", "DATA", ".", "RSET", "MAIL"]


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("reply", [b"503 5.5.1 RCPT first\r\n", b"554 no valid recipients\r\n"])
def test_a_refused_recipient_is_told_in_its_own_words(reply: bytes, together: bool) -> None:
    script = {"RCPT": once(b"550 5.1.1 nobody\r\n"), "DATA": once(reply, b"354 go\r\n")}
    server, outcome = refused(script, in_one_packet=together)
    assert outcome == Permanent("550 5.1.1 nobody", status="5.1.1")
    assert len(server.data) == 1


def test_a_refused_recipient_and_data_wanted() -> None:
    server, outcome = refused({"RCPT": once(b"550 5.1.1 nobody\r\n"), ".": once(b"554 nobody\r\n")})
    assert isinstance(outcome, Permanent)
    assert server.data == [b"", as_sent(message(BEN))]


@both
@pytest.mark.parametrize("reply", [b"250 ok\r\n", b"200 ok\r\n", b"334 go on\r\n", b"355 go\r\n"])
def test_data_answered_with_something_else_sends_nothing(offer: bytes, reply: bytes) -> None:
    with OddServer({"EHLO": offer, "DATA": once(reply, b"354 go\r\n")}) as server:
        client = session(server.url)
        outcome = send(client)
        assert b"Subject" not in b"".join(server.chunks)
        assert isinstance(send(client), Sent)
        client.close()
    assert isinstance(outcome, Temporary)
    assert not outcome.stops_lane
    assert server.verbs.count("CONNECT") == 2
    assert len(server.data) == 1


# --- connections that end


@both
@pytest.mark.parametrize("verb", ["CONNECT", "EHLO", *ENVELOPE, "."])
@pytest.mark.parametrize("closes", [True, False])
def test_a_421_stops_the_lane_wherever_it_comes(offer: bytes, verb: str, closes: bool) -> None:
    usual = {"CONNECT": b"220 hi\r\n", "EHLO": offer, "DATA": b"354 go\r\n"}
    script: Script = {"EHLO": offer, verb: once(b"421 4.3.2 going\r\n", usual.get(verb, b"250 ok\r\n"))}
    with RawServer(script, hangs_up_after=verb if closes else "") as server:
        client = session(server.url)
        outcome = send(client)
        server.hangs_up_after = ""
        assert isinstance(send(client, message(BEN)), Sent)
        client.close()
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert "421 4.3.2 going" in outcome.text
    assert server.data[-1] == as_sent(message(BEN))
    assert server.data.count(as_sent(message(BEN))) == 1
    assert server.verbs.count("CONNECT") == 2


@both
@pytest.mark.parametrize("verb", ["MAIL", "RCPT"])
def test_a_connection_that_ends_after_a_good_answer_is_temporary(offer: bytes, verb: str) -> None:
    with RawServer({"EHLO": offer}, hangs_up_after=verb) as server:
        client = session(server.url)
        outcome = send(client)
        server.hangs_up_after = ""
        assert isinstance(send(client, message(BEN)), Sent)
        client.close()
    assert isinstance(outcome, Temporary)
    assert not outcome.stops_lane
    assert "connection was lost at" in outcome.text
    assert server.data == [as_sent(message(BEN))]


@both
@pytest.mark.parametrize("closes", [True, False])
@pytest.mark.parametrize("later", [0.0, 0.1])
def test_a_421_between_two_messages_costs_nothing(offer: bytes, closes: bool, later: float) -> None:
    end = once(b"250 as 1\r\n421 4.4.2 idle\r\n", b"250 as 2\r\n")
    with RawServer({"EHLO": offer, ".": end}, hangs_up_after="." if closes else "") as server:
        client = session(server.url)
        assert send(client) == Sent(remote_id="250 as 1")
        server.hangs_up_after = ""
        time.sleep(later)
        assert send(client, message(BEN)) == Sent(remote_id="250 as 2")
        client.close()
    assert server.data == [as_sent(message(ADA)), as_sent(message(BEN))]
    assert server.verbs.count("CONNECT") == 2


@both
def test_answers_that_nobody_asked_for_make_no_letter_sent(offer: bytes) -> None:
    """A server one response ahead is out of step: its next response is not about the next letter."""
    with RawServer({"EHLO": offer, ".": once(b"250 as 1\r\n250 again\r\n", b"250 as 2\r\n")}) as server:
        client = session(server.url)
        assert isinstance(send(client), Sent)
        outcome = send(client, message(BEN))
        assert type(outcome) is Temporary or as_sent(message(BEN)) in server.data
        assert isinstance(send(client, message(BEN)), Sent)
        client.close()
    assert server.data[-1] == as_sent(message(BEN))
    assert server.data.count(as_sent(message(BEN))) == 1


# --- the end of the message, also through TLS

everywhere = pytest.mark.parametrize("tls", ["", "starttls", "implicit"])


@everywhere
@pytest.mark.parametrize("reply", some_now([DROP, STALL]))
@pytest.mark.parametrize("earlier", some_now([0, 1, 2]))
def test_a_message_that_has_left_and_is_not_answered_is_ambiguous(
    tls: str, reply: str, earlier: int, certificate: Path
) -> None:
    context = server_context(certificate) if tls else None
    with SmtpServer(tls=tls, context=context) as server:
        client = session(server.url, context=trusting(certificate), timeouts=PATIENT)
        for _ in range(earlier):
            assert isinstance(send(client), Sent)
        server.answer("taken", reply, times=1)
        client.pipeline.timeouts = replace(PATIENT, message=0.4)
        assert isinstance(send(client), Ambiguous)
        client.pipeline.timeouts = PATIENT
        assert isinstance(send(client), Sent)
        client.close()


def deaf(certificate: Path, tls: str) -> OddServer:
    offer = {"": PIPELINING, "starttls": b"250-mx\r\n250-STARTTLS\r\n250 PIPELINING\r\n"}[tls]
    server = OddServer({"EHLO": offer}, deaf=True, tls=server_context(certificate) if tls else None)
    server.url = server.url.replace("smtp:", "smtp+starttls:" if tls else "smtp:")
    return server


def test_a_big_letter_that_did_not_leave_whole_was_not_taken(certificate: Path) -> None:
    assert len(BIG.data) > 5_000_000
    with deaf(certificate, "") as server:
        outcome = send(session(server.url, timeouts=IMPATIENT), BIG)
    assert isinstance(outcome, Temporary)
    assert "the end of the message" in outcome.text


def test_of_a_big_letter_in_tls_nobody_knows_how_much_has_left(certificate: Path) -> None:
    """Encrypted data is in another buffer: when in doubt, it may have been accepted."""
    with deaf(certificate, "starttls") as server:
        outcome = send(session(server.url, timeouts=IMPATIENT, context=trusting(certificate)), BIG)
    assert isinstance(outcome, Ambiguous | Temporary)
    assert "the end of the message" in outcome.text


@pytest.mark.parametrize("tls", ["", "starttls"])
def test_a_small_letter_that_left_and_was_not_read_is_ambiguous(tls: str, certificate: Path) -> None:
    """The whole letter may be in the server's buffer."""
    with deaf(certificate, tls) as server:
        outcome = send(session(server.url, timeouts=IMPATIENT, context=trusting(certificate)))
    assert isinstance(outcome, Ambiguous)


@pytest.mark.slow
@everywhere
def test_a_big_letter_arrives(tls: str, certificate: Path) -> None:
    context = server_context(certificate) if tls else None
    with SmtpServer(tls=tls, context=context) as server:
        client = session(server.url, context=trusting(certificate))
        client.pipeline.timeouts = type(client.pipeline.timeouts)()
        assert isinstance(send(client, BIG), Sent)
        assert isinstance(send(client), Sent)
        client.close()
    assert server.messages[0].data == BIG.dated(NOW)


# --- what comes before TLS


@pytest.mark.parametrize(
    "more", [b"250-mx\r\n250 AUTH PLAIN\r\n", b"250-mx\r\n250-SIZE 1", b"5", b"421 no\r\n"]
)
def test_what_comes_with_the_answer_to_starttls_is_forgotten(more: bytes, certificate: Path) -> None:
    offers = once(b"250-mx\r\n250 STARTTLS\r\n", PIPELINING)
    with RawServer({"EHLO": offers, "STAR": b"220 go\r\n" + more}, tls=server_context(certificate)) as server:
        client = session(server.url.replace("smtp:", "smtp+starttls:"), context=trusting(certificate))
        assert isinstance(send(client), Sent)
        client.close()
    assert server.data == [as_sent(message())]


@pytest.mark.parametrize("reply", [b"220 go\r\n", b"454 4.7.0 no TLS today\r\n", b"421 bye\r\n"])
def test_a_server_that_goes_when_tls_begins_stops_the_lane(reply: bytes, certificate: Path) -> None:
    script = {"EHLO": b"250-mx\r\n250 STARTTLS\r\n", "STAR": reply}
    with RawServer(script, hangs_up_after="STAR") as server:
        outcome = send(session(server.url.replace("smtp:", "smtp+starttls:"), context=trusting(certificate)))
    assert isinstance(outcome, Temporary)
    assert outcome.stops_lane
    assert str(server.port) in outcome.text
