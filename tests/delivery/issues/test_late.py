"""Late subscribers and failed deliveries: sent later, each once.

Retrying by hand: which deliveries, and as what kind.
"""

from typing import Any

import pytest

from channels.base import Ambiguous, Sent
from common.ports.panels import CannotAct
from delivery.engine.send_pass import send_due
from delivery.issues import pause
from delivery.issues.pause import (
    NotRetryable,
    Retry,
    cancel_issue,
    failed_domains,
    failed_of,
    make_collections_due,
    make_deliveries_due,
    retry_delivery,
    retry_failed,
)
from delivery.issues.progress import sent_late
from delivery.issues.publish import late_subscribers, publish, send_late
from delivery.models import Delivery, Issue
from subscriptions.models import Destination, Subscription
from tests.delivery.ledger import HOUR, Clock, claimed, one_ended, queued, states
from tests.factories import (
    NOW,
    AssignableFactory,
    DeliveryFactory,
    DestinationFactory,
    IssueFactory,
    LeftFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db


def a_published_issue(readers: int = 1) -> Issue:
    issue: Issue = IssueFactory(published_at=None)
    SubscriptionFactory.create_batch(readers, subscribable=issue.subscribable)
    publish(issue_id=issue.pk, now=NOW)
    issue.refresh_from_db()
    return issue


def late(issue: Issue, **facts: Any) -> Any:
    return SubscriptionFactory(subscribable=issue.subscribable, confirmed_at=NOW + HOUR, **facts)


def test_who_confirmed_after_it_was_published_gets_it_once() -> None:
    issue = a_published_issue()
    came = late(issue)
    assert [row.pk for row in late_subscribers(issue)] == [came.pk]
    assert send_late(issue_id=issue.pk, now=NOW + 2 * HOUR) == 1
    row = Delivery.objects.get(subscription=came)
    assert (row.issue, row.state, row.due_at, row.held_for) == (issue, "queued", NOW + 2 * HOUR, "")
    assert send_late(issue_id=issue.pk, now=NOW + 3 * HOUR) == 0
    assert late_subscribers(issue).count() == 0
    assert sent_late(issue) == 1
    assert Delivery.objects.count() == 2


def test_who_was_there_before_is_not_late() -> None:
    issue = a_published_issue()
    # Confirmed long before, but without a delivery: imported as such, or its row was disabled then.
    SubscriptionFactory(subscribable=issue.subscribable)
    assert send_late(issue_id=issue.pk, now=NOW + HOUR) == 0


def test_a_confirmation_that_crossed_with_the_publishing_is_late() -> None:
    issue = a_published_issue()
    SubscriptionFactory(subscribable=issue.subscribable, confirmed_at=NOW)
    assert send_late(issue_id=issue.pk, now=NOW + HOUR) == 1


def test_who_left_is_unconfirmed_disabled_or_of_another_newsletter_gets_nothing() -> None:
    issue = a_published_issue()
    for factory in (LeftFactory, UnconfirmedFactory):
        factory(subscribable=issue.subscribable, confirmed_at=NOW + HOUR)
    late(issue, destination=DestinationFactory(disabled_at=NOW))
    SubscriptionFactory(confirmed_at=NOW + HOUR)
    assert send_late(issue_id=issue.pk, now=NOW + 2 * HOUR) == 0


def test_drafts_and_cancelled_issues_have_no_late_subscribers() -> None:
    with pytest.raises(CannotAct, match="wasn’t sent"):
        send_late(issue_id=IssueFactory(published_at=None).pk, now=NOW)
    issue = a_published_issue()
    late(issue)
    cancel_issue(issue_id=issue.pk, now=NOW)
    with pytest.raises(CannotAct, match="was cancelled"):
        send_late(issue_id=issue.pk, now=NOW)


def test_a_letter_that_was_forgotten_is_not_sent_as_an_empty_one() -> None:
    issue = a_published_issue()
    late(issue)
    failed = DeliveryFactory(issue=issue, state="failed")
    Issue.objects.update(pruned_at=NOW, html="", text="")
    with pytest.raises(CannotAct, match="deleted after KEEP_DAYS"):
        send_late(issue_id=issue.pk, now=NOW)
    with pytest.raises(NotRetryable, match="deleted after KEEP_DAYS"):
        retry_failed(issue_id=issue.pk, now=NOW + HOUR)
    with pytest.raises(NotRetryable, match="deleted after KEEP_DAYS"):
        pause.retry_delivery(delivery=failed, now=NOW + HOUR)


# --- what failed


def test_all_that_failed_of_an_issue_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pause, "DELIVERIES_A_BATCH", 2)
    issue, other = IssueFactory(), IssueFactory()
    queued(5, issue=issue, state="failed", attempts=9, last_error="550 no")
    queued(1, issue=issue, state="sent")
    queued(1, issue=other, state="failed")
    assert failed_of(issue.pk) == Retry(retryable=5, skipped=0)
    assert retry_failed(issue_id=issue.pk, now=NOW + HOUR) == 5
    assert states() == {"queued": 5, "sent": 1, "failed": 1}
    assert set(issue.deliveries.filter(state="queued").values_list("attempts", "due_at")) == {(0, NOW + HOUR)}
    assert retry_failed(issue_id=issue.pk, now=NOW + 2 * HOUR) == 0


def test_only_one_domain_may_be_tried_again() -> None:
    issue = IssueFactory()
    queued(2, issue=issue, state="failed", domain="one.example")
    queued(1, issue=issue, state="failed", domain="two.example")
    assert failed_domains(issue.pk) == [("one.example", 2), ("two.example", 1)]
    assert failed_of(issue.pk, "one.example").retryable == 2
    assert retry_failed(issue_id=issue.pk, domain="one.example", now=NOW + HOUR) == 2
    assert issue.deliveries.get(state="failed").domain == "two.example"


def test_whom_nothing_may_be_sent_to_is_skipped_and_counted() -> None:
    issue = IssueFactory()
    fine, suppressed, disabled, gone = queued(4, issue=issue, state="failed")
    SuppressionFactory(core=suppressed.destination.core)
    Destination.objects.filter(pk=disabled.destination_id).update(disabled_at=NOW)
    Subscription.objects.filter(deliveries=gone).update(status="unsubscribed")
    assert failed_of(issue.pk) == Retry(retryable=1, skipped=3)
    assert retry_failed(issue_id=issue.pk, now=NOW + HOUR) == 1
    assert issue.deliveries.get(state="queued").pk == fine.pk


def test_what_fails_again_meanwhile_is_not_tried_for_ever() -> None:
    issue = IssueFactory()
    queued(1, issue=issue, state="failed", created_at=NOW + HOUR)
    assert retry_failed(issue_id=issue.pk, now=NOW + HOUR) == 0


def test_nothing_of_a_cancelled_issue_is_tried_again() -> None:
    issue = IssueFactory(cancelled_at=NOW)
    queued(1, issue=issue, state="failed")
    with pytest.raises(NotRetryable, match="cancelled"):
        retry_failed(issue_id=issue.pk, now=NOW + HOUR)


@pytest.mark.parametrize("state", ["failed", "held", "deferred", "cancelled", "stored"])
def test_what_did_not_arrive_is_queued_and_due_now(state: str) -> None:
    row = DeliveryFactory(
        state=state, attempts=9, due_at=NOW + HOUR, created_at=NOW - 90 * HOUR, last_error="It failed."
    )
    retry_delivery(delivery=row, now=NOW)
    row.refresh_from_db()
    assert (row.state, row.attempts, row.due_at, row.created_at) == ("queued", 0, NOW, NOW)
    assert row.sent_at is None
    assert len(claimed()) == 1


@pytest.mark.parametrize("state", ["queued", "sent"])
def test_what_is_on_its_way_or_arrived_is_refused_and_told(state: str) -> None:
    row = DeliveryFactory(state=state)
    with pytest.raises(NotRetryable, match=f"Delivery {row.pk} is {state}"):
        retry_delivery(delivery=row, now=NOW)


def test_what_is_being_sent_is_refused() -> None:
    queued()
    (job,) = claimed()
    with pytest.raises(NotRetryable, match="sending"):
        retry_delivery(delivery=Delivery.objects.get(pk=job.pk), now=NOW)
    assert Delivery.objects.get().lease_token == job.token


def test_the_state_counts_that_the_row_has_now_not_when_it_was_read() -> None:
    row = DeliveryFactory(state="failed")
    Delivery.objects.update(state="sent")
    with pytest.raises(NotRetryable, match="is sent"):
        retry_delivery(delivery=row, now=NOW)


def test_a_held_one_still_knows_since_when_its_end_is_unknown() -> None:
    row = one_ended(Ambiguous("check whether the post was published", holds=True))
    retry_delivery(delivery=row, now=NOW + HOUR)
    (job,) = claimed(now=NOW + HOUR)
    assert job.begun_before == NOW


def test_who_left_is_cancelled_again_with_the_reason() -> None:
    row = DeliveryFactory(state="failed")
    LeftFactory(destination=row.destination)
    row.subscription.status = "unsubscribed"
    row.subscription.save()
    retry_delivery(delivery=row, now=NOW)
    assert claimed() == ()
    row.refresh_from_db()
    assert (row.state, row.last_error) == ("cancelled", "Left before it was sent.")


@pytest.mark.django_db(transaction=True)
def test_stored_letters_are_sent_once_there_is_a_server(smtp: SmtpServer) -> None:
    row = one_ended(Sent(stored=b"Subject: Hello\r\n\r\nHello\r\n"))
    retry_delivery(delivery=row, now=NOW)
    assert send_due(clock=Clock()).sent == 1
    assert smtp.recipients == [row.destination.core]
    assert states() == {"sent": 1}


def test_hurrying_ends_the_back_off_of_deferred_ones_only() -> None:
    deferred = DeliveryFactory(state="deferred", due_at=NOW + HOUR)
    queued_later = DeliveryFactory(state="queued", due_at=NOW + HOUR)
    assert make_deliveries_due(now=NOW) == 1
    for row in (deferred, queued_later):
        row.refresh_from_db()
    assert (deferred.due_at, queued_later.due_at) == (NOW, NOW + HOUR)


def test_hurrying_ends_the_back_off_of_collections_that_failed_only() -> None:
    failed = AssignableFactory(failures=2, next_try_at=NOW + HOUR)
    waiting = AssignableFactory(next_try_at=NOW + HOUR)
    assert make_collections_due(now=NOW) == 1
    for row in (failed, waiting):
        row.refresh_from_db()
    assert (failed.next_try_at, waiting.next_try_at) == (NOW, NOW + HOUR)
