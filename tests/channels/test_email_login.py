"""Trying an account: the server's message, without the password."""

from pathlib import Path

import pytest

from channels.email.account_url import Mailbox, parse_email_url
from channels.email.session import CannotLogIn, probe_login
from tests.channels.email_certificates import make_certificate, server_context, trusting
from tests.servers.raw_smtp import RawServer
from tests.servers.smtp_server import DROP, SmtpServer

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
