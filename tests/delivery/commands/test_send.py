"""`send` and `run_once` say why letters wait; `send` fails if nothing could be sent at all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from delivery.engine.send_pass import send_due
from delivery.models import Lane
from tests.channels.email_certificates import make_certificate, server_context
from tests.delivery.ledger import queued, states
from tests.examples import some_now
from tests.factories import LaneFactory
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]


def told(*words: str) -> tuple[str, str, str]:
    """Return a command's output, its errors, and its final sentence."""
    out, err, sentence = StringIO(), StringIO(), ""
    try:
        call_command(*words, stdout=out, stderr=err)
    except CommandError as error:
        sentence = str(error)
    return out.getvalue(), err.getvalue(), sentence


@contextmanager
def nobody(folder: Path) -> Iterator[str]:
    yield f"smtp://127.0.0.1:{free_port()}"


@contextmanager
def wrong_password(folder: Path) -> Iterator[str]:
    with SmtpServer(login=("letters", "right")) as server:
        yield server.url.replace("right", "wrong")


@contextmanager
def unknown_certificate(folder: Path) -> Iterator[str]:
    with SmtpServer(tls="starttls", context=server_context(make_certificate(folder))) as server:
        yield server.url


TROUBLE = {
    "can’t be reached": nobody,
    "refused the sign-in": wrong_password,
    "certificate was refused": unknown_certificate,
}


@pytest.mark.parametrize("reason", some_now(TROUBLE))
def test_a_server_that_cannot_be_used_is_told_of_and_logged_once(
    reason: str, settings: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with TROUBLE[reason](tmp_path) as url:
        settings.EMAIL_URL = url
        queued(20)
        shown, remarks, sentence = told("send")
        assert "sent" in shown
        (remark,) = remarks.splitlines()
        assert remark.startswith("Waiting in the lane default, 20 emails: ")
        assert reason in remark
        assert sentence.startswith("Nothing could be sent. ")
        assert reason in sentence
        (wait,) = json.loads(told("send", "--json")[0])["waits"]
        assert (wait["lane"], wait["letters"], reason in wait["why"]) == ("default", 20, True)
        assert reason in told("run_once")[1]
    logged = [entry.getMessage() for entry in caplog.records if "begins to rest" in entry.getMessage()]
    assert len(logged) == 1
    assert reason in logged[0]
    assert "wrong@" not in caplog.text + remarks
    assert states() == {"queued": 20}


def test_a_lane_that_sends_again_is_logged(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    settings.EMAIL_URL = f"smtp://127.0.0.1:{port}"
    queued(3)
    assert told("send")[2]
    Lane.objects.update(free_at=None)
    with SmtpServer(port=port), caplog.at_level("INFO"):
        # A command at a terminal reports it in its table.
        send_due()
    assert "a lane sends again" in caplog.text


def test_letters_that_are_put_off_one_by_one_are_told_of_and_are_no_failure(settings: Any) -> None:
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        rows = queued(3)
        server.answer("rcpt", "450 4.2.0 Greylisted", recipient=rows[0].destination.core)
        _, remarks, sentence = told("send")
    assert remarks == "Waiting in the lane default, 1 email: 450 4.2.0 Greylisted\n"
    assert not sentence


def test_one_lane_that_rests_is_no_failure_while_another_sends(settings: Any) -> None:
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        queued(2)
        queued(2, lane=LaneFactory(account="gone"))
        _, remarks, sentence = told("send")
    assert "The email account gone doesn’t exist" in remarks
    assert not sentence
