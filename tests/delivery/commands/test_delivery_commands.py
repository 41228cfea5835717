"""Commands about deliveries.

`send` and `run_once` say why letters wait; `send` fails if nothing could be sent at all.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from delivery.engine.send_pass import send_due
from delivery.models import Delivery, Lane
from tests.channels.email_certificates import make_certificate, server_context
from tests.console import json_of, printed, refused
from tests.delivery.ledger import queued, states
from tests.examples import some_now
from tests.factories import (
    NOW,
    AssignableFactory,
    AttemptFactory,
    DeliveryFactory,
    LaneFactory,
    SubscriptionFactory,
)
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer
from tests.servers.smtp_server import SmtpServer
from tests.services import free_port

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore:Requiring AUTH while not requiring TLS"),
]
KEYS = ["id", "issue", "destination", "state", "attempts", "due_at", "sent_at", "remote_id", "last_error"]
LATER = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.mark.django_db
def test_show_delivery_tells_the_attempts_in_the_servers_words() -> None:
    attempt = AttemptFactory(text="451 4.7.1 greylisted")
    row = json_of("show_delivery", str(attempt.delivery.pk))
    assert list(row)[: len(KEYS)] == KEYS
    assert (row["kind"], row["newsletter"]) == ("issue", attempt.delivery.issue.subscribable.name)
    assert row["history"] == [{"at": NOW.isoformat(), "outcome": "temporary", "text": "451 4.7.1 greylisted"}]
    assert "temporary: 451 4.7.1 greylisted" in printed("show_delivery", str(attempt.delivery.pk))


@pytest.mark.django_db
def test_a_confirmation_link_is_not_shown() -> None:
    made = DeliveryFactory(kind="confirmation", context={"confirm_url": "https://x.test/confirm/secret/"})
    assert "secret" not in printed("show_delivery", str(made.pk), "--json")


@pytest.mark.django_db
def test_retry_delivery_queues_it_again() -> None:
    failed = DeliveryFactory(state="failed", due_at=LATER)
    assert json_of("retry_delivery", str(failed.pk))["state"] == "queued"
    assert "is queued" in refused("retry_delivery", str(failed.pk))


@pytest.mark.django_db
def test_complete_all_ends_back_off_and_never_a_period() -> None:
    backing_off = AssignableFactory(failures=1, next_try_at=LATER)
    future = {"period_start": datetime(2998, 1, 1, tzinfo=UTC), "period_end": LATER}
    open_ = AssignableFactory(failures=1, next_try_at=LATER, **future)
    assert json_of("complete") == {"completed": 0, "series": 0}
    json_of("complete", "--all")
    backing_off.refresh_from_db()
    open_.refresh_from_db()
    assert backing_off.next_try_at < LATER
    assert open_.period_end == LATER


def test_send_sends_what_is_due_and_all_ends_back_off(smtp: SmtpServer) -> None:
    due = DeliveryFactory()
    waiting = DeliveryFactory(state="deferred", due_at=LATER)
    queued = DeliveryFactory(state="queued", due_at=LATER)
    assert json_of("send") == {"sent": 1, "stored": 0, "failed": 0, "deferred": 0, "waits": []}
    assert json_of("send", "--all")["sent"] == 1
    assert smtp.recipients == [due.destination.core, waiting.destination.core]
    assert Delivery.objects.get(pk=queued.pk).state == "queued"


def test_send_test_email_tells_that_the_server_took_it(smtp: SmtpServer) -> None:
    assert json_of("send_test_email", "--to", "Ada <ada@example.org>")["state"] == "sent"
    assert smtp.recipients == ["ada@example.org"]


def test_send_test_email_tells_the_servers_words(smtp: SmtpServer) -> None:
    smtp.answer("rcpt", "550 5.7.1 not you", recipient="ada@example.org")
    assert "5.7.1 not you" in refused("send_test_email", "--to", "ada@example.org")


@pytest.mark.django_db
def test_send_test_email_refuses_what_is_no_address() -> None:
    assert "isn’t an email address" in refused("send_test_email", "--to", "nonsense")


def test_a_feed_becomes_a_letter_by_commands_alone(smtp: SmtpServer, loopback_allowed: None) -> None:
    post = {"guid": "g1", "title": "First", "link": "https://x.test/1", "content": "<p>Hello</p>"}
    with FeedServer() as server:
        url = server.serve("/feed.xml", rss([post]), headers={"Content-Type": "application/rss+xml"})
        feed = json_of("add_feed", url, "--ping", "--all")
        json_of(
            "define_subscribable", "letters", "--feed", str(feed["id"]), "--from", "Blog <blog@example.org>"
        )
        json_of("subscribe", "letters", "--email", "ada@example.org")
        ran = json_of("run_once")
        none = {"sent": 0, "stored": 0, "failed": 0}
        assert ran == {"polled": 1, "assigned": 1, "completed": 1, **none, "sent": 1}
        assert json_of("run_once") == {"polled": 1, "assigned": 0, "completed": 0, **none}
    assert smtp.recipients == ["ada@example.org"]


def test_a_letter_kept_in_the_mailbox_is_not_called_sent(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    DeliveryFactory(subscription=SubscriptionFactory())
    assert json_of("send") == {"sent": 0, "stored": 1, "failed": 0, "deferred": 0, "waits": []}
    assert "mailbox" in printed("send_test_email", "--to", "ada@example.org")


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
