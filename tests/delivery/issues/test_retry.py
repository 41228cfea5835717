"""Retrying by hand: which deliveries, and as what kind."""

import pytest

from channels.base import Ambiguous, Sent
from delivery.engine.send_pass import send_due
from delivery.issues.pause import NotRetryable, make_collections_due, make_deliveries_due, retry_delivery
from delivery.models import Delivery
from tests.delivery.ledger import HOUR, Clock, claimed, one_ended, queued, states
from tests.factories import NOW, AssignableFactory, DeliveryFactory, LeftFactory
from tests.servers.smtp_server import SmtpServer

pytestmark = pytest.mark.django_db


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
