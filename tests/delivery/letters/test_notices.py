"""Notices of the subscriptions app become Deliveries, each exactly once, before all letters.

The welcome mail: a few words, or the latest issue, which nobody gets twice.
The site's own mails to one person: encrypted while queued, and deleted with that person.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from channels.letter import LetterError
from common.ports.hooks import site_mail
from common.refused import Refused
from delivery.engine.send_pass import send_due
from delivery.issues.publish import send_late
from delivery.letters import notices as module
from delivery.letters.build import mail_letter
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions.models import Destination, Notice
from tests.delivery.ledger import Clock, a_lane, queued
from tests.factories import (
    NOW,
    DeliveryFactory,
    DestinationFactory,
    IssueFactory,
    NoticeFactory,
    SubscriptionFactory,
)
from tests.races import beside
from tests.servers.smtp_server import SmtpServer

LINK = "https://x.example/reader/invitation/SECRET/"
ADA = "ada@example.org"
AFTER = NOW + timedelta(hours=1)
pytestmark = pytest.mark.django_db
CONTEXT = {"newsletter": "Letter", "confirm_url": "https://letters.example/confirm/x/", "hours": "48"}


def a_notice(**changes: Any) -> Notice:
    notice: Notice = NoticeFactory(context=CONTEXT, **changes)
    return notice


def test_a_notice_becomes_a_delivery_with_all_that_it_said() -> None:
    notice = a_notice(key="subscription-1", language="de")
    assert take_notices(now=NOW) == 1
    row = Delivery.objects.get()
    assert (row.kind, row.key, row.template, row.language) == (
        "confirmation", "subscription-1", "confirmation", "de",
    )  # fmt: skip
    assert (row.destination, row.subscription, row.context) == (
        notice.destination, notice.subscription, CONTEXT,
    )  # fmt: skip
    assert (row.state, row.due_at, row.domain, row.lane.account) == (
        "queued", NOW, "example.org", "default",
    )  # fmt: skip
    assert Notice.objects.count() == 0


def test_a_notice_that_was_taken_before_is_not_sent_again() -> None:
    a_notice(key="subscription-1")
    take_notices(now=NOW)
    a_notice(key="subscription-1")
    take_notices(now=NOW)
    assert Delivery.objects.count() == 1
    assert Notice.objects.count() == 0


def test_taking_none_is_nothing() -> None:
    assert take_notices(now=NOW) == 0


def test_more_than_a_batch_is_taken_in_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NOTICES_A_BATCH", 2)
    for _ in range(5):
        a_notice()
    assert take_notices(now=NOW) == 5
    assert Delivery.objects.count() == 5


def test_a_notice_for_a_channel_that_is_gone_stops_no_other() -> None:
    a_notice(destination=DestinationFactory(kind="pigeon"))
    a_notice()
    assert take_notices(now=NOW) == 2
    assert Delivery.objects.get().lane.kind == "email"


def test_a_failed_transaction_takes_nothing() -> None:
    a_notice()
    with transaction.atomic():
        assert take_notices(now=NOW) == 1
        transaction.set_rollback(True)
    assert (Notice.objects.count(), Delivery.objects.count()) == (1, 0)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_workers_take_each_notice_once() -> None:
    for _ in range(3):
        a_notice()
    taken = beside(lambda: take_notices(now=NOW), lambda: take_notices(now=NOW), blocks=False)
    assert taken == (3, 0)
    assert Delivery.objects.count() == 3


@pytest.mark.django_db(transaction=True)
def test_a_pass_takes_them_and_sends_them_first(smtp: SmtpServer) -> None:
    queued(3, lane=a_lane(concurrency=1))
    notice = a_notice()
    assert send_due(clock=Clock()).sent == 4
    assert smtp.recipients[0] == notice.destination.core
    assert smtp.messages[0].subject == "Confirm your subscription to Letter"


def welcome(reader: Any, template: str = "latest") -> list[Delivery]:
    """Process a welcome notice; return all deliveries."""
    NoticeFactory(kind="welcome", template=template, subscription=reader, context={"newsletter": "Letter"})
    take_notices(now=AFTER)
    return list(Delivery.objects.all())


@pytest.fixture
def reader() -> Any:
    return SubscriptionFactory(confirmed_at=AFTER)


def test_words_are_a_mail(reader: Any) -> None:
    (row,) = welcome(reader, "welcome")
    assert (row.kind, row.template, row.issue) == ("welcome", "welcome", None)


def test_the_latest_issue_goes_to_that_reader_alone(reader: Any) -> None:
    SubscriptionFactory(subscribable=reader.subscribable)
    IssueFactory(subscribable=reader.subscribable, published_at=NOW - timedelta(days=7))
    latest = IssueFactory(subscribable=reader.subscribable, published_at=NOW)
    (row,) = welcome(reader)
    assert (row.kind, row.issue, row.destination) == ("issue", latest, reader.destination)
    assert (row.state, row.due_at) == ("queued", AFTER)


@pytest.mark.parametrize(
    "facts",
    [{"published_at": None}, {"cancelled_at": NOW}, {"pruned_at": NOW}],
    ids=lambda facts: next(iter(facts)),
)
def test_while_there_is_none_to_send_the_welcome_is_words(reader: Any, facts: Any) -> None:
    IssueFactory(subscribable=reader.subscribable, **facts)
    (row,) = welcome(reader)
    assert (row.kind, row.template) == ("welcome", "welcome")


def test_who_has_the_issue_already_does_not_get_it_again(reader: Any) -> None:
    latest = IssueFactory(subscribable=reader.subscribable)
    had = DeliveryFactory(issue=latest, subscription=reader, state="sent")
    assert welcome(reader) == [had]
    assert not welcome_late(latest)


def test_who_was_welcomed_with_it_is_no_late_subscriber_any_more(reader: Any) -> None:
    latest = IssueFactory(subscribable=reader.subscribable)
    welcome(reader)
    assert not welcome_late(latest)


def test_who_has_left_meanwhile_gets_nothing(reader: Any) -> None:
    IssueFactory(subscribable=reader.subscribable)
    reader.status = "unsubscribed"
    reader.save()
    assert welcome(reader) == []


def welcome_late(issue: Any) -> int:
    return send_late(issue_id=issue.pk, now=AFTER)


def send(address: str = ADA) -> Delivery:
    context: dict[str, str | int] = {"invitation_url": LINK, "days": 7}
    site_mail().send(address=address, template="invitation", context=context, now=NOW)
    return Delivery.objects.latest("pk")


def test_a_link_is_sealed_until_the_mail_is_made(settings: object) -> None:
    mail = send()
    assert "SECRET" not in str(mail.context)
    assert LINK in mail_letter(mail, now=NOW).text
    settings.SECRET_KEY = "another" * 9  # type: ignore[attr-defined]
    with pytest.raises(LetterError, match="SECRET_KEY has changed"):
        mail_letter(mail, now=NOW)


def test_what_is_no_address_is_refused() -> None:
    with pytest.raises(Refused):
        send("nowhere")


def test_the_address_is_forgotten_with_its_mails() -> None:
    send()
    Delivery.objects.update(state="sent")
    site_mail().forget("Ada@example.org")
    assert not Destination.objects.exists()
    assert not Delivery.objects.exists()


@pytest.mark.parametrize("other", ["a subscriber", "somebody who is told of troubles", "a mail on its way"])
def test_it_stays_where_anything_else_needs_it(other: str) -> None:
    destination = DestinationFactory(core=ADA)
    send()
    if other != "a mail on its way":
        Delivery.objects.update(state="sent")
    if other == "a subscriber":
        SubscriptionFactory(destination=destination)
    elif other != "a mail on its way":
        DeliveryFactory(
            issue=None,
            subscription=None,
            destination=destination,
            kind="alert",
            key="x",
            template="alert",
            state="sent",
        )
    count = Delivery.objects.count()
    site_mail().forget(ADA)
    assert Destination.objects.get() == destination
    assert Delivery.objects.count() == count
