"""Trying an account: the server's message, without the password.

Encryption and login errors stop the lane and harm no recipient.
Login mechanisms in turn, each in its own protocol (RFC 4954).
"""

import base64
import hmac
from collections.abc import Callable
from pathlib import Path

import pytest

from channels.base import Outcome, Sent, Temporary
from channels.email.account_url import Mailbox, parse_email_url
from channels.email.session import CannotLogIn, probe_login
from tests.channels.email_certificates import make_certificate, server_context, trusting
from tests.channels.email_letters import IMPATIENT, message, send, session
from tests.servers.raw_smtp import RawServer, Reply
from tests.servers.smtp_server import DROP, STALL, SmtpServer

USER, PASSWORD = base64.b64encode(b"ada").decode(), base64.b64encode(b"s3cret").decode()
BOTH = base64.b64encode(b"\0ada\0s3cret").decode()
ASKS_USER, ASKS_PASSWORD = b"334 VXNlcm5hbWU6\r\n", b"334 UGFzc3dvcmQ6\r\n"
OK, WRONG = b"235 2.7.0 ok\r\n", b"535 5.7.8 wrong\r\n"
Script = dict[str, Reply | Callable[[str], Reply]]
TLS_LOGIN = ("ada", "s3cret")
LOGIN = ("ada", "s3crét")
pytestmark = pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.mark.parametrize("tls", ["", "starttls", "implicit"])
def test_a_good_login_is_told_in_the_servers_words(tls: str, certificate: Path) -> None:
    context = server_context(certificate) if tls else None
    with SmtpServer(tls=tls, context=context, login=LOGIN) as server:
        said = probe_login(parse_email_url(server.url), context=trusting(certificate))
    assert "accepted the sign-in: 235" in said
    assert "mail" not in server.commands


def test_without_a_user_the_server_is_only_asked_whether_it_answers() -> None:
    with SmtpServer() as server:
        assert "answers. No sign-in was tried" in probe_login(parse_email_url(server.url))


def refusal(url: str, **options: object) -> str:
    with pytest.raises(CannotLogIn) as caught:
        probe_login(parse_email_url(url), **options)  # type: ignore[arg-type]
    said = str(caught.value)
    assert "s3cr" not in said
    return said


def test_a_wrong_password_is_refused_in_the_servers_words() -> None:
    with SmtpServer(login=LOGIN) as server:
        said = refusal(server.url.replace("s3crét", "s3cret"))
        assert "refused the sign-in" in said
        assert "535" in said


def test_a_certificate_that_nobody_vouches_for_is_said(certificate: Path) -> None:
    with SmtpServer(tls="implicit", context=server_context(certificate), login=LOGIN) as server:
        assert "certificate" in refusal(server.url).lower()


def test_what_offers_no_encryption_or_no_login_is_said() -> None:
    with SmtpServer() as server:
        assert "STARTTLS" in refusal(server.url.replace("smtp:", "smtp+starttls:"))
        assert "no supported sign-in method" in refusal(f"smtp://ada:s3cret@127.0.0.1:{server.port}")


def test_a_server_that_is_not_there_or_hangs_up_is_said() -> None:
    with SmtpServer() as server:
        url = server.url
        server.answer("connect", DROP)
        assert "closed the connection before accepting anything" in refusal(url)
    assert "can’t be reached" in refusal(url)


def test_a_server_that_speaks_something_else_is_said() -> None:
    with RawServer({"CONNECT": b"HTTP/1.1 \xff\xfe 400 Bad Request\r\n\r\n"}) as server:
        assert "127.0.0.1" in refusal(server.url)
    with RawServer({"CONNECT": b"554 5.7.1 go \x1b[31maway\r\n"}) as server:
        assert refusal(server.url).endswith("isn’t ready: 554 5.7.1 go [31maway")


def test_only_smtp_can_be_tried_so() -> None:
    with pytest.raises(CannotLogIn, match="Send a test email"):
        probe_login(Mailbox())


def stops_the_lane(outcome: Outcome, *said: str) -> bool:
    """Return whether it waits and stops the lane; assert these words, and no password."""
    assert isinstance(outcome, Temporary), outcome
    assert "s3cret" not in outcome.text
    assert not [part for part in said if part not in outcome.text], outcome.text
    return outcome.stops_lane


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
def test_a_letter_goes_through_tls_with_a_checked_certificate(tls: str, certificate: Path) -> None:
    with SmtpServer(tls=tls, context=server_context(certificate)) as server:
        client = session(server.url, context=trusting(certificate))
        assert isinstance(send(client), Sent)
        assert isinstance(send(client), Sent)
        client.close()
    assert (len(server.messages), server.connections) == (2, 1)


@pytest.mark.parametrize("tls", ["starttls", "implicit"])
def test_a_certificate_that_nobody_vouches_for_stops_the_lane(tls: str, certificate: Path) -> None:
    with SmtpServer(tls=tls, context=server_context(certificate)) as server:
        assert stops_the_lane(send(session(server.url)), "certificate was refused", str(server.port))
    assert server.messages == []


def test_a_certificate_of_another_name_stops_the_lane(certificate: Path) -> None:
    with SmtpServer(tls="implicit", context=server_context(certificate)) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        assert stops_the_lane(send(session(url, context=trusting(certificate))), "certificate was refused")


def test_an_expired_certificate_stops_the_lane(tmp_path: Path) -> None:
    expired = make_certificate(tmp_path, days=-1)
    with SmtpServer(tls="starttls", context=server_context(expired)) as server:
        outcome = send(session(server.url, context=trusting(expired)))
    assert stops_the_lane(outcome, "expired")


def test_without_starttls_nothing_is_sent_in_the_clear() -> None:
    with SmtpServer(login=TLS_LOGIN) as server:
        url = server.url.replace("smtp:", "smtp+starttls:")
        assert stops_the_lane(send(session(url)), "doesn’t offer STARTTLS")
    assert "auth" not in server.commands
    assert "mail" not in server.commands


def test_what_was_said_before_tls_is_forgotten(certificate: Path) -> None:
    """An attacker adds a response to the one that starts TLS; it must not count as one inside TLS."""
    replies = {"EHLO": b"250-mx\r\n250 STARTTLS\r\n", "STAR": b"220 go\r\n250-mx\r\n250 AUTH PLAIN\r\n"}
    with RawServer(replies, tls=server_context(certificate)) as server:
        url = server.url.replace("smtp://", "smtp+starttls://ada:s3cret@")
        outcome = send(session(url, context=trusting(certificate)))
    assert stops_the_lane(outcome, "no supported sign-in method")
    assert server.verbs.count("EHLO") == 2
    assert "AUTH" not in server.verbs


@pytest.mark.parametrize("tls", ["", "starttls"])
def test_a_login_opens_the_door(tls: str, certificate: Path) -> None:
    with SmtpServer(tls=tls, context=server_context(certificate), login=TLS_LOGIN) as server:
        client = session(server.url, context=trusting(certificate))
        assert isinstance(send(client), Sent)
        client.close()
    assert len(server.messages) == 1


def test_a_server_that_knows_login_only_gets_it() -> None:
    # The password's base64 starts with "CZNJ".
    replies = {"EHLO": b"250-mx\r\n250 AUTH LOGIN\r\n", "AUTH": b"334 UGFzcw==\r\n", "CZNJ": b"235 ok\r\n"}
    with RawServer(replies) as server:
        assert isinstance(send(session(server.url.replace("//", "//ada:s3cret@"))), Sent)


@pytest.mark.parametrize("tls", ["", "starttls"])
def test_a_wrong_password_stops_the_lane_and_names_what_to_check(tls: str, certificate: Path) -> None:
    with SmtpServer(tls=tls, context=server_context(certificate), login=("ada", "another")) as server:
        url = server.url.replace("another", "s3cret")
        outcome = send(session(url, context=trusting(certificate)))
    assert stops_the_lane(outcome, "EMAIL_URL", "535 5.7.8")


@pytest.mark.parametrize("reply", ["454 4.7.0 try later", "421 4.7.0 too many logins", DROP, STALL])
def test_a_login_that_does_not_end_stops_the_lane(reply: str) -> None:
    with SmtpServer(login=TLS_LOGIN) as server:
        server.answer("auth", reply)
        assert stops_the_lane(send(session(server.url, timeouts=IMPATIENT)))
        server.forget_answers()
        assert isinstance(send(session(server.url)), Sent)


def test_a_server_that_offers_no_login_stops_the_lane() -> None:
    with RawServer({}) as server:
        outcome = send(session(server.url.replace("//", "//ada:s3cret@")))
    assert stops_the_lane(outcome, "EMAIL_URL", "no supported sign-in method")


def test_a_server_that_wants_a_login_stops_the_lane() -> None:
    with SmtpServer(login=TLS_LOGIN) as server:
        outcome = send(session(server.url.replace("ada:s3cret@", "")), message())
    assert stops_the_lane(outcome, "EMAIL_URL", "530 5.7.0")


def test_a_plain_server_behind_an_implicit_url_stops_the_lane() -> None:
    with SmtpServer() as server:
        assert stops_the_lane(send(session(server.url.replace("smtp:", "smtps:"))), str(server.port))


def test_a_tls_server_behind_a_plain_url_stops_the_lane(certificate: Path) -> None:
    with SmtpServer(tls="implicit", context=server_context(certificate)) as server:
        url = server.url.replace("smtps:", "smtp:")
        assert stops_the_lane(send(session(url, timeouts=IMPATIENT)), str(server.port))


class LoginServer(RawServer):
    """Server that offers those mechanisms, and answers AUTH and what follows by `answer`."""

    def __init__(self, offered: str, answer: Callable[[str], Reply]) -> None:
        super().__init__({"EHLO": b"250-mx\r\n250 AUTH " + offered.encode() + b"\r\n"})
        self.answer = answer
        self.tries: list[str] = []
        self.is_logged_in = False

    def _reply(self, verb: str, line: str) -> Reply:
        said = line.strip()
        if self.is_logged_in or verb in ("CONNECT", "EHLO", "QUIT"):
            return super()._reply(verb, line)
        self.tries.append(said)
        reply = self.answer(said)
        self.is_logged_in = bool(reply and reply.startswith(b"235"))
        return reply


def outcome(server: LoginServer) -> Outcome:
    client = session(server.url.replace("//", "//ada:s3cret@"))
    try:
        return send(client)
    finally:
        client.close()


def scripted(**replies: bytes) -> Callable[[str], Reply]:
    """Return replies by command, with spaces as underscores; refuse all others."""
    return lambda said: replies.get(said.replace(" ", "_").replace("=", ""), b"501 5.5.4 what?\r\n")


def name_of(said: str) -> str:
    return said.replace(" ", "_").replace("=", "")


MECHANISM_LOGIN = {"AUTH_LOGIN": ASKS_USER, name_of(USER): ASKS_PASSWORD, name_of(PASSWORD): OK}


def test_login_is_tried_where_plain_is_refused() -> None:
    with LoginServer(
        "PLAIN LOGIN", scripted(**MECHANISM_LOGIN, **{name_of(f"AUTH PLAIN {BOTH}"): WRONG})
    ) as server:
        assert isinstance(outcome(server), Sent)


def test_a_login_is_not_tried_again_where_another_mechanism_worked() -> None:
    with LoginServer(
        "PLAIN LOGIN", scripted(**MECHANISM_LOGIN, **{name_of(f"AUTH PLAIN {BOTH}"): WRONG})
    ) as server:
        outcome(server)
        server.is_logged_in = False
        server.tries.clear()
        assert isinstance(outcome(server), Sent)
        assert server.tries[0] == "AUTH LOGIN"


@pytest.mark.parametrize("first", [b"334 \r\n", b"334\r\n", b"501 5.5.4 no argument\r\n"])
def test_plain_is_answered_where_the_server_asks_for_it(first: bytes) -> None:
    replies = {name_of(f"AUTH PLAIN {BOTH}"): first, "AUTH_PLAIN": b"334 \r\n", name_of(BOTH): OK}
    with LoginServer("PLAIN", scripted(**replies)) as server:
        assert isinstance(outcome(server), Sent)


def test_login_gives_the_user_again_where_it_is_asked_for_twice() -> None:
    replies = iter([ASKS_USER, ASKS_USER, ASKS_PASSWORD, OK])
    with LoginServer("LOGIN", lambda said: next(replies)) as server:
        assert isinstance(outcome(server), Sent)
    assert server.tries == ["AUTH LOGIN", USER, USER, PASSWORD]


@pytest.mark.parametrize("question", [b"334 \r\n", b"334 Q29kZQ==\r\n", b"334 not base64\r\n"])
def test_login_goes_by_turn_where_the_questions_say_nothing(question: bytes) -> None:
    replies = iter([question, question, OK])
    with LoginServer("LOGIN", lambda said: next(replies)) as server:
        assert isinstance(outcome(server), Sent)
    assert server.tries == ["AUTH LOGIN", USER, PASSWORD]


def test_the_password_is_signed_where_the_server_takes_nothing_else() -> None:
    challenge = b"<1896.697170952@mx.example.test>"
    digest = hmac.new(b"s3cret", challenge, "md5").hexdigest()
    signed = base64.b64encode(f"ada {digest}".encode()).decode()
    replies = {"AUTH_CRAM-MD5": b"334 " + base64.b64encode(challenge) + b"\r\n", name_of(signed): OK}
    with LoginServer("CRAM-MD5 GSSAPI", scripted(**replies)) as server:
        assert isinstance(outcome(server), Sent)


@pytest.mark.parametrize("code", [b"454 4.7.0", b"421 4.3.2", b"432 4.7.12"])
def test_a_temporary_refusal_blames_nobody_and_ends_the_tries(code: bytes) -> None:
    with LoginServer("PLAIN LOGIN", lambda said: code + b" busy\r\n") as server:
        refused = outcome(server)
    assert isinstance(refused, Temporary)
    assert refused.stops_lane
    assert "Check the user and password" not in refused.text
    assert code.decode() in refused.text
    assert len(server.tries) == 1


def test_each_mechanism_is_refused_once_and_then_the_account_rests() -> None:
    with LoginServer("PLAIN LOGIN CRAM-MD5 XOAUTH2", lambda said: WRONG) as server:
        refused = outcome(server)
    assert isinstance(refused, Temporary)
    assert "Check the user and password" in refused.text
    assert sorted(line.split()[1] for line in server.tries) == ["CRAM-MD5", "LOGIN", "PLAIN"]


def test_that_the_password_is_wrong_is_said_before_what_came_after_it() -> None:
    replies = iter([WRONG, b"504 5.5.4 unknown mechanism\r\n"])
    with LoginServer("PLAIN LOGIN", lambda said: next(replies)) as server:
        refused = outcome(server)
    assert isinstance(refused, Temporary)
    assert "535 5.7.8 wrong" in refused.text


def test_a_server_that_hangs_up_after_a_refusal_has_refused() -> None:
    replies = iter([WRONG, None])
    with LoginServer("PLAIN LOGIN", lambda said: next(replies)) as server:
        refused = outcome(server)
    assert isinstance(refused, Temporary)
    assert "535 5.7.8 wrong" in refused.text


def test_a_server_that_asks_without_end_is_given_up() -> None:
    with LoginServer("LOGIN", lambda said: ASKS_USER if said != "*" else b"501 ended\r\n") as server:
        refused = outcome(server)
    assert isinstance(refused, Temporary)
    assert server.tries[-1] == "*"
    assert len(server.tries) < 8
