"""A call reaches its receiver at least once, whatever it does, and delays no other receiver."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from common.clock import utcnow
from common.ports.events import Event, EventKind, emit
from delivery.models import Webhook, WebhookCall
from delivery.privacy.retention import prune_old_data
from delivery.resources.webhooks import webhooks
from delivery.webhooks import calls
from delivery.webhooks.calls import WebhookResponse, call_due, claim_calls, post_call, record_response
from delivery.webhooks.outbox import rotate_secret
from tests.delivery.webhooks.listener import Receiver, a_webhook, receivers
from tests.factories import SubscriptionFactory
from tests.servers.feed_server import Reply

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]
MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receivers() as (one,):
        yield one


def happen(count: int = 1, at: datetime | None = None) -> None:
    keys = tuple(SubscriptionFactory().pk for _ in range(count))
    with transaction.atomic():
        emit(Event(EventKind.CONFIRMED, keys, at or utcnow()))


def later(by: timedelta) -> int:
    return call_due(clock=lambda: utcnow() + by)


def states() -> list[str]:
    return list(WebhookCall.objects.order_by("pk").values_list("state", flat=True))


def the_call() -> WebhookCall:
    return WebhookCall.objects.get()


def test_what_happened_is_told_once_signed(receiver: Receiver) -> None:
    a_webhook(receiver)
    happen()
    assert call_due() == 1
    assert call_due() == 0
    assert receiver.types == ["subscription.confirmed"]
    assert (the_call().state, the_call().status, the_call().error) == ("sent", 204, "")


def test_an_error_is_tried_again_under_the_same_id_until_it_is_taken(receiver: Receiver) -> None:
    a_webhook(receiver)
    receiver.replies = [Reply(b'{"detail":"out of paper"}', 500, {"Content-Type": "application/json"}), 503]
    happen()
    assert call_due() == 1
    assert the_call().state == "queued"
    assert the_call().error == 'HTTP 500: {"detail":"out of paper"}'
    assert call_due() == 0
    assert (later(MINUTE), later(HOUR)) == (1, 1)
    assert len(set(receiver.ids)) == 1
    assert len(receiver.ids) == 3
    assert (the_call().state, the_call().attempts) == ("sent", 3)
    assert Webhook.objects.filter(failures=0, failing_since=None, free_at=None).exists()


def test_after_three_days_it_is_given_up(receiver: Receiver) -> None:
    a_webhook(receiver)
    receiver.replies = [500] * 9
    happen()
    for day in range(5):
        later(day * DAY)
    assert the_call().state == "failed"
    assert len(receiver.ids) == 4


def test_an_address_that_took_nothing_for_three_days_lets_no_heap_grow(receiver: Receiver) -> None:
    a_webhook(receiver)
    receiver.replies = [500] * 9
    happen(5, at=utcnow())
    call_due()
    later(3 * DAY + MINUTE)
    assert states() == ["failed"] * 5
    assert len(receiver.ids) < 9


def test_a_receiver_that_does_not_answer_in_time_is_called_again(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS", 0.2)
    a_webhook(receiver)
    receiver.seconds = 5
    happen()
    began = time.monotonic()
    call_due()
    assert time.monotonic() - began < 3
    assert (the_call().state, the_call().status) == ("queued", None)
    assert "within 0.2 seconds" in the_call().error


def test_an_answer_that_never_ends_is_taken_all_the_same(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS", 0.5)
    a_webhook(receiver)
    receiver.replies = [Reply(b"x" * 1000, 200, drip=0.2), Reply(b"x" * 9_000_000, 200)]
    happen(2)
    call_due()
    assert states() == ["sent", "sent"]


def test_a_redirect_is_not_followed(receiver: Receiver) -> None:
    a_webhook(receiver)
    receiver.replies = [Reply(status=307, headers={"Location": receiver.url})]
    happen()
    call_due()
    assert len(receiver.ids) == 1
    assert (the_call().state, the_call().status) == ("queued", 307)
    assert "redirects" in the_call().error


def test_410_switches_the_webhook_off_and_the_others_wait(receiver: Receiver) -> None:
    webhook = a_webhook(receiver)
    happen()
    receiver.replies = [Reply(b"moved away", 410, {"Content-Type": "text/plain"})]
    call_due()
    happen()
    webhook.refresh_from_db()
    assert (webhook.active, webhook.disabled_reason) == (False, "HTTP 410: moved away")
    assert states() == ["failed"]
    webhooks.resume(webhook)
    happen()
    call_due()
    webhook.refresh_from_db()
    assert (states(), webhook.disabled_at) == (["failed", "sent"], None)


def test_a_private_address_is_refused(receiver: Receiver, settings: Any) -> None:
    a_webhook(receiver)
    settings.ALLOW_PRIVATE_NETWORKS = []
    happen()
    call_due()
    assert receiver.ids == []
    assert "not a public address" in the_call().error


def test_what_was_sent_and_not_recorded_is_sent_again_under_the_same_id(receiver: Receiver) -> None:
    a_webhook(receiver)
    happen()
    (job,) = claim_calls(now=utcnow(), busy={})
    post_call(job, at=utcnow())  # and the worker is killed
    assert call_due() == 0
    assert later(2 * MINUTE) == 1
    assert len(receiver.ids) == 2
    assert len(set(receiver.ids)) == 1
    assert states() == ["sent"]


def test_that_it_was_taken_counts_however_late_and_a_late_failure_does_not(receiver: Receiver) -> None:
    a_webhook(receiver)
    happen()
    (slow,) = claim_calls(now=utcnow(), busy={})
    (other,) = claim_calls(now=utcnow() + 2 * MINUTE, busy={})
    record_response(job=slow, answer=WebhookResponse(500, "HTTP 500."), now=utcnow())
    assert the_call().lease_token == other.token
    record_response(job=slow, answer=WebhookResponse(200), now=utcnow())
    assert states() == ["sent"]
    record_response(job=other, answer=WebhookResponse(500, "HTTP 500."), now=utcnow())
    assert states() == ["sent"]


def test_a_dead_receiver_is_asked_by_one_call_and_keeps_no_other_waiting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls, "CALL_SECONDS", 1.0)
    with receivers(2) as (dead, alive):
        a_webhook(dead)
        a_webhook(alive)
        dead.seconds = 5
        happen(20)
        call_due()
        assert len(alive.ids) == len(set(alive.ids)) == 20
        assert len(dead.ids) <= 4
        # After its rest one call is tried, and the nineteen others wait for its outcome.
        dead.got.clear()
        Webhook.objects.update(free_at=None)
        call_due(clock=utcnow)
        assert len(dead.ids) == 1


def test_a_poisoned_event_stops_no_other_of_its_webhook(receiver: Receiver) -> None:
    a_webhook(receiver)
    happen(3)
    receiver.replies = [400]
    call_due()
    later(10 * timedelta(seconds=1))
    assert sorted(states()) == ["queued", "sent", "sent"]


def test_a_paused_webhook_is_not_called_and_goes_on_where_it_was(receiver: Receiver) -> None:
    webhook = a_webhook(receiver)
    happen()
    webhooks.pause(webhook)
    happen()
    assert call_due() == 0
    webhooks.resume(webhook)
    assert call_due() == 1
    assert states() == ["sent"]


def test_for_a_day_both_secrets_sign(receiver: Receiver) -> None:
    webhook = a_webhook(receiver)
    old = receiver.secret
    new = rotate_secret(webhook=webhook, now=utcnow() - 23 * HOUR)
    for secret in (old, new):
        receiver.secret = secret
        happen()
        call_due()
    assert states() == ["sent", "sent"]
    rotate_secret(webhook=webhook, now=utcnow() - 25 * HOUR)
    happen()
    call_due()
    # The receiver knows only the key before the last: it cannot verify the call and fails.
    assert states() == ["sent", "sent", "queued"]


def test_a_pass_ends_with_its_budget_and_leaves_nothing_claimed(receiver: Receiver) -> None:
    a_webhook(receiver)
    receiver.seconds = 0.3
    happen(9)
    call_due(budget=timedelta(seconds=0.2))
    assert len(receiver.ids) == 4
    assert set(states()) == {"sent", "queued"}


def test_the_log_is_forgotten_after_a_while_but_not_what_is_being_sent(receiver: Receiver) -> None:
    a_webhook(receiver)
    happen(3)
    call_due()
    happen()
    claim_calls(now=utcnow(), busy={})
    assert prune_old_data(now=utcnow() + 89 * DAY)["calls"] == 0
    assert prune_old_data(now=utcnow() + 91 * DAY)["calls"] == 3
    assert states() == ["sending"]
