"""Login mechanisms in turn, each in its own protocol (RFC 4954)."""

import base64
import hmac
from collections.abc import Callable

import pytest

from channels.base import Outcome, Sent, Temporary
from tests.channels.email_letters import send, session
from tests.servers.raw_smtp import RawServer, Reply

USER, PASSWORD = base64.b64encode(b"ada").decode(), base64.b64encode(b"s3cret").decode()
BOTH = base64.b64encode(b"\0ada\0s3cret").decode()
ASKS_USER, ASKS_PASSWORD = b"334 VXNlcm5hbWU6\r\n", b"334 UGFzc3dvcmQ6\r\n"
OK, WRONG = b"235 2.7.0 ok\r\n", b"535 5.7.8 wrong\r\n"
Script = dict[str, Reply | Callable[[str], Reply]]


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


LOGIN = {"AUTH_LOGIN": ASKS_USER, name_of(USER): ASKS_PASSWORD, name_of(PASSWORD): OK}


def test_login_is_tried_where_plain_is_refused() -> None:
    with LoginServer("PLAIN LOGIN", scripted(**LOGIN, **{name_of(f"AUTH PLAIN {BOTH}"): WRONG})) as server:
        assert isinstance(outcome(server), Sent)


def test_a_login_is_not_tried_again_where_another_mechanism_worked() -> None:
    with LoginServer("PLAIN LOGIN", scripted(**LOGIN, **{name_of(f"AUTH PLAIN {BOTH}"): WRONG})) as server:
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
