"""Passes over a real mail server: recipients, and the effects of refusals.

The sign-in mail: sent through our own account, without a way to unsubscribe.
Letters through a mail service: each recipient has a recorded outcome.
"""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from delivery.accounts.accounts import add_account
from delivery.engine import claimer
from delivery.engine.send_pass import send_due
from delivery.models import Delivery, Lane
from subscriptions.models import Destination, Notice, Suppression
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from tests.delivery.ledger import MINUTE, SECOND, Clock, a_lane, a_mail, attempts, cores, queued, states
from tests.factories import (
    NOW,
    DestinationFactory,
    IssueFactory,
    IssueItemFactory,
    LeftFactory,
    SubscriptionFactory,
)
from tests.servers import esp_server as services
from tests.servers.esp_server import KEY, EspServer, Reply
from tests.servers.smtp_server import DROP, SmtpServer

pytestmark = pytest.mark.django_db(transaction=True)


def send(now: Any = NOW) -> Any:
    return send_due(clock=Clock(now))


def test_everybody_gets_the_letter_once(smtp: SmtpServer) -> None:
    rows = queued(60)
    report = send()
    assert (report.sent, report.failed, report.deferred, report.stored) == (60, 0, 0, 0)
    assert sorted(smtp.recipients) == sorted(cores(rows))
    assert states() == {"sent": 60}
    assert smtp.most_open <= 10
    assert send().sent == 0


def test_what_the_server_said_is_the_remote_id(smtp: SmtpServer) -> None:
    queued()
    send()
    assert "queued as" in Delivery.objects.get().remote_id


def test_each_recipients_trouble_is_their_own(smtp: SmtpServer) -> None:
    gone, busy, fine = queued(3)
    smtp.answer("rcpt", "550 5.1.1 No such user", recipient=gone.destination.core)
    smtp.answer("rcpt", "450 4.2.0 Greylisted", recipient=busy.destination.core, times=1)
    report = send()
    assert (report.sent, report.failed, report.deferred) == (1, 1, 1)
    gone.refresh_from_db()
    assert (gone.state, attempts(gone)) == ("failed", [("permanent", "550 5.1.1 No such user")])
    assert Suppression.objects.get().core == gone.destination.core
    assert send(NOW + 2 * MINUTE).sent == 1
    assert sorted(smtp.recipients) == sorted(cores([busy, fine]))


def test_a_retry_has_the_same_message_id(smtp: SmtpServer) -> None:
    (row,) = queued()
    smtp.answer("taken", DROP, times=1)
    assert send().deferred == 1
    row.refresh_from_db()
    assert (row.state, row.begun_at) == ("deferred", NOW)
    assert send(NOW + 20 * MINUTE).sent == 1
    first, second = (message.email["Message-ID"] for message in smtp.messages)
    assert first == second
    assert f".{row.pk}@" in first


def test_a_reader_who_left_meanwhile_gets_nothing_and_nobody_waits_for_it(smtp: SmtpServer) -> None:
    """Even if a whole claim of theirs is first: the pass goes on to the others."""
    lane = a_lane(concurrency=1)
    issue = IssueFactory()
    for _ in range(31):
        queued(issue=issue, lane=lane, subscription=LeftFactory(subscribable=issue.subscribable))
    queued(2, issue=issue, lane=lane)
    assert send().sent == 2
    assert states() == {"cancelled": 31, "sent": 2}


def test_a_letter_that_cannot_be_made_waits_and_the_others_go(smtp: SmtpServer) -> None:
    poisoned = IssueFactory()
    IssueItemFactory(issue=poisoned, entry={"no": "entry"})
    queued(35, issue=poisoned, lane=a_lane(concurrency=1), due_at=NOW - MINUTE)
    queued(2)
    report = send()
    assert (report.sent, report.deferred) == (2, 35)
    row = Delivery.objects.filter(issue=poisoned)[0]
    assert (row.state, row.attempts) == ("deferred", 1)
    assert row.last_error.startswith("The message cannot be made")


def test_a_recipient_whose_secrets_cannot_be_read_stops_nobody(smtp: SmtpServer) -> None:
    queued(2)
    bad = DestinationFactory()
    issue = IssueFactory()
    queued(issue=issue, subscription=SubscriptionFactory(destination=bad, subscribable=issue.subscribable))
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE subscriptions_destination SET secrets = %s WHERE id = %s", ["unreadable", bad.pk]
        )
    report = send()
    assert (report.sent, report.deferred) == (2, 1)
    assert "SECRET_KEY" in Delivery.objects.get(destination=bad).last_error


def test_an_address_that_no_header_can_hold_fails_alone(smtp: SmtpServer) -> None:
    queued(2)
    Destination.objects.filter(pk=Delivery.objects.all()[0].destination_id).update(
        config={"address": "a@example.org>\r\nBcc: b@example.org"}
    )
    report = send()
    assert (report.sent, report.deferred) == (1, 1)
    assert "The message cannot be made" in Delivery.objects.get(state="deferred").last_error


@pytest.mark.slow
def test_a_confirmation_overtakes_letters_that_are_on_their_way(smtp: SmtpServer) -> None:
    """It is claimed while the worker is busy, and sent as soon as a connection is free."""
    smtp.state.delay = 0.02
    lane = a_lane(concurrency=1)
    queued(25, lane=lane)
    clock = Clock()
    mail = a_mail(lane=lane, due_at=NOW + SECOND)

    class Later(Clock):
        """Clock by which the mail becomes due once five letters are sent."""

        def __call__(self) -> Any:
            return NOW + SECOND if len(smtp.messages) >= 5 else clock()

    assert send_due(clock=Later()).sent == 26
    place = smtp.recipients.index(mail.destination.core)
    assert 5 <= place < 22


def test_many_lanes_share_one_bound_and_all_are_served(
    smtp: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claimer, "MOST_OPEN_CONNECTIONS", 3)
    for number in range(8):
        add_account(name=f"account-{number}", url=smtp.url)
        lane = Lane.objects.get(account=f"account-{number}")
        Lane.objects.filter(pk=lane.pk).update(serial=True, concurrency=1, refilled_at=NOW)
        queued(2, lane=lane)
    assert send().sent == 16
    assert smtp.most_open <= 6  # closing connections are still open for a moment


def test_letters_are_kept_where_there_is_no_server(mailbox: None) -> None:
    queued(3)
    report = send()
    assert (report.stored, report.sent) == (3, 0)
    assert states() == {"stored": 3}
    assert Lane.objects.get().failures == 0


def test_it_arrives_and_says_one_thing(smtp: SmtpServer, settings: object) -> None:
    settings.DEFAULT_FROM_EMAIL = "Site <site@sender.example>"  # type: ignore[attr-defined]
    SubscriptionFactory(destination__core="ada@example.org", status="unsubscribed")
    ask_for_link(email="ada@example.org", ip="", now=NOW)
    mail_links(now=NOW)
    link = Notice.objects.get().context["sign_in_url"]
    assert send_due(clock=Clock()).sent == 1
    (mail,) = smtp.messages
    assert mail.subject.startswith("Sign-in link for ")
    assert mail.email["From"] == "Site <site@sender.example>"
    assert "List-Unsubscribe" not in mail.email
    html, text = (mail.email.get_body((part,)) for part in ("html", "plain"))
    for part in (html, text):
        assert part is not None
        said = part.get_content()
        assert set(re.findall(r"https?://[^\s\"<>]+", said)) == {link}
        assert "once, for 30 minutes" in said
    row = Delivery.objects.get()
    assert (row.kind, row.state) == ("sign_in", "sent")


@pytest.fixture
def postmark(settings: Any) -> Iterator[EspServer]:
    with EspServer(services.postmark) as server:
        settings.EMAIL_URL = f"anymail+postmark://{KEY}@example.org?api_url={server.url}"
        yield server


@pytest.mark.usefixtures("loopback_allowed")
def test_every_reader_gets_one_letter_and_has_the_services_id(postmark: EspServer) -> None:
    queued(7, issue=IssueFactory())
    assert send_due(clock=Clock()).sent == 7
    assert states() == {"sent": 7}
    ids = list(Delivery.objects.values_list("remote_id", flat=True))
    assert len(set(ids)) == 7
    assert all(ids)
    messages = [one for request in postmark.requests for one in _messages(request.json)]
    assert len({message["To"] for message in messages}) == len(messages) == 7


def _messages(body: Any) -> list[dict[str, Any]]:
    return body if isinstance(body, list) else [body]


@pytest.mark.usefixtures("loopback_allowed")
def test_one_that_the_service_does_not_write_to_fails_alone(postmark: EspServer) -> None:
    issue = IssueFactory()
    queued(3, issue=issue)
    (bad,) = queued(1, issue=issue, subscription__destination__core="ada@inactive.test")
    send_due(clock=Clock())
    assert states() == {"sent": 3, "failed": 1}
    assert [outcome for outcome, _ in attempts(bad)] == ["permanent"]


@pytest.mark.usefixtures("loopback_allowed")
def test_a_wrong_key_fails_nobody(postmark: EspServer) -> None:
    postmark.says(Reply(401, {"ErrorCode": 10, "Message": "Bad token"}))
    queued(3, issue=IssueFactory())
    assert send_due(clock=Clock()).sent == 0
    assert set(states()) <= {"queued", "deferred"}
    assert not Delivery.objects.filter(last_error__contains=KEY).exists()
