"""Encryption and login errors stop the lane with a reason, and touch no letter.

An unusable mail server: nothing is lost, no letter is blamed, the lane rests.
"""

import importlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.engine.send_pass import send_due
from delivery.models import Delivery, Lane
from tests.channels.email_certificates import make_certificate, server_context
from tests.delivery.answered import LATER, a_letter, impatient, modules, send, untouched
from tests.delivery.ledger import MINUTE, Clock, queued, states
from tests.examples import some_now
from tests.factories import NOW
from tests.servers.raw_smtp import RawServer
from tests.servers.smtp_server import DROP, STALL, SmtpServer
from tests.services import free_port

pytestmark = [
    pytest.mark.django_db(transaction=True),
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


def send_by_clock(now: datetime = NOW) -> Any:
    return send_due(clock=Clock(now))


def test_a_server_that_is_down_and_comes_back_loses_nothing(settings: Any) -> None:
    port = free_port()
    settings.EMAIL_URL = f"smtp://127.0.0.1:{port}"
    rows = queued(40)
    assert send_by_clock().sent == 0
    lane = Lane.objects.get()
    assert lane.failures == 1
    assert "can’t be reached" in lane.last_error
    assert lane.free_at is not None
    assert states() == {"queued": 40}
    assert sum(row.attempts for row in Delivery.objects.all()) == 0
    assert send_by_clock().deferred == 0
    with SmtpServer(port=port) as smtp:
        assert send_by_clock(lane.free_at + MINUTE).sent == 40
        assert sorted(smtp.recipients) == sorted(row.destination.core for row in rows)
    lane.refresh_from_db()
    assert (lane.failures, lane.last_error) == (0, "")


def test_a_wrong_password_is_told_and_nothing_is_tried_one_by_one(settings: Any) -> None:
    with SmtpServer(login=("letters", "right")) as smtp:
        settings.EMAIL_URL = smtp.url.replace("right", "wrong")
        queued(40)
        send_by_clock()
        assert smtp.connections <= 10
        assert "refused the sign-in" in Lane.objects.get().last_error
        assert states() == {"queued": 40}
        assert not Delivery.objects.filter(attempts__gt=0).exists()
        settings.EMAIL_URL = smtp.url
        assert send_by_clock(NOW + 2 * MINUTE).sent == 40


def test_a_wrong_email_url_is_told(settings: Any) -> None:
    settings.EMAIL_URL = "gopher://old.example"
    queued(3)
    send_by_clock()
    assert "EMAIL_URL" in Lane.objects.get().last_error
    assert states() == {"queued": 3}


def test_a_lane_that_stops_gives_the_rest_back_and_rests(smtp: SmtpServer) -> None:
    queued(50)
    smtp.answer("rcpt", "421 4.7.0 Too many messages")
    report = send_by_clock()
    assert report.sent == 0
    assert report.deferred <= 10
    assert states() == {"deferred": report.deferred, "queued": 50 - report.deferred}
    given_back = Delivery.objects.filter(state="queued").values_list("begun_at", "attempts", "lease_token")
    assert set(given_back) == {(None, 0, None)}
    lane = Lane.objects.get()
    assert lane.free_at is not None
    assert lane.free_at > NOW
    before = len(smtp.commands)
    send_by_clock()
    assert len(smtp.commands) == before
    smtp.forget_answers()
    assert send_by_clock(NOW + 2 * MINUTE).sent == 50


def test_a_server_that_closes_now_and_then_gets_everything_all_the_same(smtp: SmtpServer) -> None:
    queued(30)
    smtp.answer("mail", "421 4.3.2 Going down", times=1)
    sent = send_by_clock().sent
    assert sent + send_by_clock(NOW + 2 * MINUTE).sent == 30
    assert len(smtp.recipients) == len(set(smtp.recipients)) == 30


def test_a_server_that_always_says_try_later_is_asked_less_and_less(smtp: SmtpServer) -> None:
    (row,) = queued()
    smtp.answer("rcpt", "451 4.3.0 Try again later")
    asked = []
    now = NOW
    for _ in range(4):
        send_by_clock(now)
        row.refresh_from_db()
        asked.append(row.due_at - now)
        now = row.due_at
    assert asked == sorted(asked)
    assert smtp.commands.count("rcpt") == 4
    assert row.attempts == 4


def test_one_recipient_whose_answer_closes_the_connection_does_not_hold_up_the_rest(smtp: SmtpServer) -> None:
    rows = queued(6)
    bad = rows[0].destination.core
    smtp.answer("rcpt", "421 4.7.0 Policy", recipient=bad)
    now, sent = NOW, 0
    for _ in range(3):
        sent += send_by_clock(now).sent
        lane = Lane.objects.get()
        now = max(lane.free_at or now, now) + MINUTE
    assert sent == 5
    assert bad not in smtp.recipients
    rows[0].refresh_from_db()
    assert rows[0].attempts >= 1
