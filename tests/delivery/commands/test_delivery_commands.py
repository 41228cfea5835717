from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from delivery.models import Delivery
from tests.console import json_of, printed, refused
from tests.factories import NOW, AssignableFactory, AttemptFactory, DeliveryFactory, SubscriptionFactory
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer
from tests.servers.smtp_server import SmtpServer

KEYS = ["id", "issue", "destination", "state", "attempts", "due_at", "sent_at", "remote_id", "last_error"]
LATER = datetime(2999, 1, 1, tzinfo=UTC)


@pytest.fixture
def smtp(settings: Any) -> Iterator[SmtpServer]:
    with SmtpServer() as server:
        settings.EMAIL_URL = server.url
        yield server


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
    assert json_of("complete") == {"completed": 0}
    json_of("complete", "--all")
    backing_off.refresh_from_db()
    open_.refresh_from_db()
    assert backing_off.next_try_at < LATER
    assert open_.period_end == LATER


@pytest.mark.django_db(transaction=True)
def test_send_sends_what_is_due_and_all_ends_back_off(smtp: SmtpServer) -> None:
    due = DeliveryFactory()
    waiting = DeliveryFactory(state="deferred", due_at=LATER)
    queued = DeliveryFactory(state="queued", due_at=LATER)
    assert json_of("send") == {"sent": 1, "stored": 0, "failed": 0, "deferred": 0, "waits": []}
    assert json_of("send", "--all")["sent"] == 1
    assert smtp.recipients == [due.destination.core, waiting.destination.core]
    assert Delivery.objects.get(pk=queued.pk).state == "queued"


@pytest.mark.django_db(transaction=True)
def test_send_test_email_tells_that_the_server_took_it(smtp: SmtpServer) -> None:
    assert json_of("send_test_email", "--to", "Ada <ada@example.org>")["state"] == "sent"
    assert smtp.recipients == ["ada@example.org"]


@pytest.mark.django_db(transaction=True)
def test_send_test_email_tells_the_servers_words(smtp: SmtpServer) -> None:
    smtp.answer("rcpt", "550 5.7.1 not you", recipient="ada@example.org")
    assert "5.7.1 not you" in refused("send_test_email", "--to", "ada@example.org")


@pytest.mark.django_db
def test_send_test_email_refuses_what_is_no_address() -> None:
    assert "isn’t an email address" in refused("send_test_email", "--to", "nonsense")


@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
def test_a_letter_kept_in_the_mailbox_is_not_called_sent(settings: Any) -> None:
    settings.EMAIL_URL = "mailbox:"
    DeliveryFactory(subscription=SubscriptionFactory())
    assert json_of("send") == {"sent": 0, "stored": 1, "failed": 0, "deferred": 0, "waits": []}
    assert "mailbox" in printed("send_test_email", "--to", "ada@example.org")
