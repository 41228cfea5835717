"""Publishing creates one Delivery for each confirmed subscription, once, by one statement."""

from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from delivery.issues.publish import publish
from delivery.models import Delivery, Issue, Lane
from tests.delivery.ledger import MINUTE
from tests.factories import (
    NOW,
    BridgeFactory,
    DestinationFactory,
    IssueFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)
from tests.races import beside

pytestmark = pytest.mark.django_db


def an_issue(**changes: Any) -> Issue:
    issue: Issue = IssueFactory(published_at=None, **changes)
    return issue


def test_everyone_who_is_confirmed_gets_a_row() -> None:
    issue = an_issue()
    readers = [SubscriptionFactory(subscribable=issue.subscribable, language="de") for _ in range(3)]
    SubscriptionFactory()
    assert publish(issue_id=issue.pk, now=NOW) == 3
    issue.refresh_from_db()
    assert issue.published_at == NOW
    rows = Delivery.objects.order_by("pk")
    assert [(row.subscription_id, row.destination_id) for row in rows] == [
        (reader.pk, reader.destination_id) for reader in readers
    ]
    row = rows[0]
    assert (row.kind, row.issue, row.key, row.state, row.language) == ("issue", issue, "", "queued", "de")
    assert (row.due_at, row.created_at, row.attempts, row.context) == (NOW, NOW, 0, {})
    assert (row.domain, row.lane.kind, row.lane.account) == ("example.org", "email", "default")
    assert (row.lease_token, row.begun_at, row.sent_at, row.last_error) == (None, None, None, "")
    row.full_clean()


def test_who_is_not_confirmed_or_has_left_or_is_disabled_gets_none() -> None:
    issue = an_issue()
    for factory in (UnconfirmedFactory, LeftFactory):
        factory(subscribable=issue.subscribable)
    gone = DestinationFactory(disabled_at=NOW)
    SubscriptionFactory(subscribable=issue.subscribable, destination=gone)
    assert publish(issue_id=issue.pk, now=NOW) == 0
    assert Delivery.objects.count() == 0


def test_publishing_twice_is_publishing_once() -> None:
    issue = an_issue()
    SubscriptionFactory(subscribable=issue.subscribable)
    assert publish(issue_id=issue.pk, now=NOW) == 1
    SubscriptionFactory(subscribable=issue.subscribable)
    assert publish(issue_id=issue.pk, now=NOW + MINUTE) == 0
    issue.refresh_from_db()
    assert issue.published_at == NOW
    assert Delivery.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_two_who_publish_at_once_publish_once() -> None:
    issue = an_issue()
    SubscriptionFactory.create_batch(5, subscribable=issue.subscribable)
    made = beside(lambda: publish(issue_id=issue.pk, now=NOW), lambda: publish(issue_id=issue.pk, now=NOW))
    assert made == (5, 0)
    assert Delivery.objects.count() == 5


def test_a_failure_afterwards_publishes_nothing() -> None:
    issue = an_issue()
    SubscriptionFactory(subscribable=issue.subscribable)
    with transaction.atomic():
        assert publish(issue_id=issue.pk, now=NOW) == 1
        transaction.set_rollback(True)
    issue.refresh_from_db()
    assert issue.published_at is None
    assert Delivery.objects.count() == 0


def test_an_issue_without_readers_is_published_all_the_same() -> None:
    issue = an_issue()
    assert publish(issue_id=issue.pk, now=NOW) == 0
    issue.refresh_from_db()
    assert issue.published_at == NOW


def test_the_number_of_queries_does_not_grow_with_the_readers() -> None:
    def queries(readers: int) -> int:
        issue = an_issue()
        SubscriptionFactory.create_batch(readers, subscribable=issue.subscribable)
        with CaptureQueriesContext(connection) as captured:
            assert publish(issue_id=issue.pk, now=NOW) == readers
        return len(captured)

    queries(1)
    assert queries(2) == queries(40)


def a_bridge(*accounts: str) -> Issue:
    subscribable = BridgeFactory()
    for account in accounts:
        destination = DestinationFactory(kind="mastodon", core=account, label=account)
        SubscriptionFactory(subscribable=subscribable, destination=destination)
    return an_issue(subscribable=subscribable)


def test_each_account_of_a_bridge_has_a_lane_of_its_own() -> None:
    issue = a_bridge("bot@one.example", "bot@two.example")
    assert publish(issue_id=issue.pk, now=NOW) == 2
    rows = Delivery.objects.select_related("lane").order_by("pk")
    assert [row.lane.account for row in rows] == ["bot@one.example", "bot@two.example"]
    assert [row.domain for row in rows] == ["one.example", "two.example"]
    assert {(lane.serial, lane.concurrency, lane.spacing_seconds) for lane in Lane.objects.all()} == {
        (True, 1, 60.0)
    }


def test_lanes_are_made_once_and_what_the_admin_set_stays() -> None:
    publish(issue_id=a_bridge("bot@one.example").pk, now=NOW)
    Lane.objects.update(spacing_seconds=5)
    issue = an_issue(subscribable=Issue.objects.get().subscribable)
    publish(issue_id=issue.pk, now=NOW)
    assert Lane.objects.get().spacing_seconds == 5
    assert Delivery.objects.count() == 2


def test_a_name_that_looks_like_sql_is_only_a_name() -> None:
    issue = an_issue(subscribable=SubscribableFactory(title="'); DROP TABLE delivery_delivery; --"))
    odd = DestinationFactory(core="o'brien%s@example.org")
    SubscriptionFactory(subscribable=issue.subscribable, destination=odd, language="en")
    assert publish(issue_id=issue.pk, now=NOW) == 1
    assert Delivery.objects.get().domain == "example.org"
