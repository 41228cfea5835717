"""The welcome mail: a few words, or the latest issue, which nobody gets twice."""

from datetime import timedelta
from typing import Any

import pytest

from delivery.issues.publish import send_late
from delivery.letters.notices import take_notices
from delivery.models import Delivery
from tests.factories import NOW, DeliveryFactory, IssueFactory, NoticeFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db

AFTER = NOW + timedelta(hours=1)


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
