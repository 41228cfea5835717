"""Encryption and login errors stop the lane with a reason, and touch no letter."""

import importlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.models import Lane
from tests.channels.email_certificates import make_certificate, server_context
from tests.delivery.answered import LATER, a_letter, send, untouched
from tests.delivery.impatience import impatient, modules
from tests.delivery.ledger import queued, states
from tests.examples import some_now
from tests.servers.raw_smtp import RawServer
from tests.servers.smtp_server import DROP, STALL, SmtpServer

pytestmark = [
    pytest.mark.django_db(transaction=True),
    # aiosmtpd warns about a login without TLS; here it is intended.
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]
__all__ = ["impatient"]
LOGIN = ("letters", "s3cret")
OFFER = b"250-mx.example.test\r\n250 STARTTLS\r\n"
BROKEN: dict[str, Callable[[], RawServer]] = {
    "refused": lambda: RawServer({"EHLO": OFFER, "STAR": b"454 4.7.0 TLS not available\r\n"}),
    "closed at STARTTLS": lambda: RawServer({"EHLO": OFFER, "STAR": None}),
    "closed in the handshake": lambda: RawServer({"EHLO": OFFER}, hangs_up_after="STAR"),
    "nonsense": lambda: RawServer({"EHLO": OFFER, "STAR": b"220 go\r\nthis is no TLS at all\r\n"}),
    "silent in the handshake": lambda: RawServer({"EHLO": OFFER, "STAR": b"220 go\r\n"}),
    "silent at STARTTLS": lambda: RawServer({"EHLO": OFFER, "STAR": b""}),
}


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make this machine trust the certificate."""
    with monkeypatch.context() as environment:
        environment.setenv("SSL_CERT_FILE", str(certificate))
        forget_whom_to_trust()
        yield certificate
    forget_whom_to_trust()


def forget_whom_to_trust() -> None:
    """Clear the caches of certificates, which a process reads once."""
    for name in modules():
        for value in vars(importlib.import_module(name)).values():
            if hasattr(value, "cache_clear"):
                value.cache_clear()


@pytest.mark.parametrize("tls", some_now(["starttls", "implicit"]))
def test_letters_go_through_tls_with_a_login(tls: str, trusted: Path, settings: Any) -> None:
    with SmtpServer(tls=tls, context=server_context(trusted), login=LOGIN) as smtp:
        settings.EMAIL_URL = smtp.url
        queued(3)
        assert send().sent == 3


@pytest.mark.parametrize("tls", some_now(["starttls", "implicit"]))
def test_a_certificate_that_nobody_vouches_for(tls: str, certificate: Path, settings: Any) -> None:
    with SmtpServer(tls=tls, context=server_context(certificate)) as smtp:
        settings.EMAIL_URL = smtp.url
        row = a_letter()
        send()
        assert untouched(row)
        assert "certificate was refused" in Lane.objects.get().last_error
        assert smtp.messages == []


def test_a_certificate_of_another_name(trusted: Path, settings: Any) -> None:
    with SmtpServer(tls="implicit", context=server_context(trusted)) as smtp:
        settings.EMAIL_URL = smtp.url.replace("127.0.0.1", "localhost")
        row = a_letter()
        send()
        assert untouched(row)
        assert "certificate was refused" in Lane.objects.get().last_error


def test_a_server_that_does_not_offer_starttls(smtp: SmtpServer, settings: Any) -> None:
    settings.EMAIL_URL = smtp.url.replace("smtp:", "smtp+starttls:")
    row = a_letter()
    send()
    assert untouched(row)
    assert "offer STARTTLS" in Lane.objects.get().last_error
    assert smtp.messages == []


@pytest.mark.parametrize("broken", some_now(BROKEN.values()), ids=BROKEN)
@pytest.mark.usefixtures("impatient")
def test_a_broken_encryption_sends_nothing_in_the_clear(broken: Any, settings: Any) -> None:
    with broken() as server:
        settings.EMAIL_URL = server.url.replace("smtp:", "smtp+starttls:")
        row = a_letter()
        send()
        assert untouched(row)
        assert "MAIL" not in server.verbs


@pytest.mark.usefixtures("impatient")
def test_a_server_without_tls_where_it_is_implied(smtp: SmtpServer, settings: Any) -> None:
    settings.EMAIL_URL = smtp.url.replace("smtp:", "smtps:")
    row = a_letter()
    send()
    assert untouched(row)


@pytest.mark.parametrize("verb", some_now(["EHLO", "MAIL"]))
def test_a_connection_lost_within_tls(verb: str, trusted: Path, settings: Any) -> None:
    """The first EHLO is in plain text, the second is not."""
    times = {"EHLO": 0, "MAIL": 1}

    def reply(line: str) -> bytes | None:
        times[verb] += 1
        return OFFER if times[verb] == 1 else None

    with RawServer({"EHLO": OFFER, verb: reply}, tls=server_context(trusted)) as server:
        settings.EMAIL_URL = server.url.replace("smtp:", "smtp+starttls:")
        row = a_letter()
        send()
        if verb == "EHLO":
            assert untouched(row)
        else:
            assert states() == {"deferred": 1}, Lane.objects.get().last_error


@pytest.mark.parametrize(
    ("answer", "said"),
    some_now(
        [
            ("", "refused the sign-in"),
            ("454 4.7.0 Temporary authentication failure", "454 4.7.0"),
            ("535 5.7.8 Bad credentials", "535 5.7.8"),
            ("421 4.7.0 Too many failures", "421"),
            (DROP, "closed the connection"),
            (STALL, "didn’t answer in time"),
        ]
    ),
)
@pytest.mark.usefixtures("impatient")
def test_a_login_that_fails_stops_the_lane_and_costs_no_letter_an_attempt(
    answer: str, said: str, settings: Any
) -> None:
    with SmtpServer(login=LOGIN) as smtp:
        settings.EMAIL_URL = smtp.url if answer else smtp.url.replace("s3cret", "wr0ng")
        if answer:
            smtp.answer("auth", answer)
        row = a_letter()
        queued(20)
        send()
        assert untouched(row)
        assert states() == {"queued": 21}
        assert smtp.connections <= 2
        error = Lane.objects.get().last_error
        assert said in error
        assert "s3cret" not in error
        assert "wr0ng" not in error
        smtp.forget_answers()
        settings.EMAIL_URL = smtp.url
        assert send(LATER).sent == 21


def test_a_server_that_asks_for_a_login_we_do_not_have_stops_the_lane(smtp: SmtpServer) -> None:
    queued(5)
    smtp.answer("mail", "530 5.7.0 Authentication required")
    assert send().failed == 0
    assert set(states()) <= {"queued", "deferred"}
    assert "a different sign-in" in Lane.objects.get().last_error


def test_the_lanes_page_says_why(admin_client: Client, settings: Any) -> None:
    with SmtpServer(login=LOGIN) as smtp:
        settings.EMAIL_URL = smtp.url.replace("s3cret", "wr0ng")
        a_letter()
        send()
    page = admin_client.get(reverse("admin:delivery_lane_change", args=[Lane.objects.get().pk]))
    assert "refused the sign-in. Check the user and password" in page.content.decode()
