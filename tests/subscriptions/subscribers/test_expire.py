"""Unconfirmed sign-ups expire."""

from datetime import timedelta
from typing import Any

import pytest

from delivery.letters.notices import take_notices
from delivery.models import Delivery
from subscriptions.models import Consent, Destination, Notice, Subscription
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.leave import EXPIRED_AT_ONCE, expire_sign_ups
from subscriptions.subscribers.sign_up import confirm_subscriptions, sign_up
from tests.factories import (
    NOW,
    BounceFactory,
    DeliveryFactory,
    DestinationFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
OVER = NOW + timedelta(hours=48, days=7, seconds=1)


def ask(letter: Any, email: str = "ada@example.org", **facts: Any) -> None:
    usual = {"subscribables": [letter], "email": email, "name": "", "origin": Origin(), "now": NOW}
    sign_up(**{**usual, **facts})


def test_it_goes_a_week_after_its_link_has_expired_with_all_that_is_known_of_it() -> None:
    ask(SubscribableFactory())
    take_notices(now=NOW)
    Delivery.objects.update(state="sent", sent_at=NOW)
    assert expire_sign_ups(now=OVER - timedelta(seconds=2)) == 0
    assert expire_sign_ups(now=OVER) == 1
    for model in (Subscription, Destination, Consent, Delivery):
        assert not model.objects.exists()


def test_who_asked_again_has_as_long_again() -> None:
    letter = SubscribableFactory()
    ask(letter)
    ask(letter, now=NOW + timedelta(days=5))
    assert expire_sign_ups(now=OVER) == 0
    assert expire_sign_ups(now=OVER + timedelta(days=5)) == 1


def test_who_confirmed_stays() -> None:
    ask(SubscribableFactory())
    token = str(Notice.objects.get().context["confirm_url"]).rstrip("/").rpartition("/")[2]
    confirm_subscriptions(token=token, now=NOW)
    assert expire_sign_ups(now=OVER) == 0


def test_who_left_before_is_remembered_as_such() -> None:
    left = LeftFactory()
    ask(left.subscribable, left.destination.core)
    assert expire_sign_ups(now=OVER) == 1
    left.refresh_from_db()
    assert (left.status, left.confirm_nonce, left.asked_name) == ("unsubscribed", "", "")
    assert left.left_at is not None
    assert expire_sign_ups(now=OVER) == 0


def test_what_a_list_brought_was_never_asked_and_stays() -> None:
    UnconfirmedFactory(confirm_nonce="", added_at=NOW - timedelta(days=365))
    assert expire_sign_ups(now=OVER) == 0


def test_an_address_that_is_needed_otherwise_stays() -> None:
    letter = SubscribableFactory()
    other = SubscriptionFactory()
    disabled = DestinationFactory()
    wrote, bounced = DestinationFactory(), DestinationFactory()
    for destination in (other.destination, disabled, wrote, bounced):
        ask(letter, destination.core)
    disabled.disabled_at = NOW
    disabled.save()
    DeliveryFactory(destination=wrote, subscription=None)
    BounceFactory(delivery=None, destination=bounced)
    assert expire_sign_ups(now=OVER) == 4
    assert Destination.objects.count() == 4
    assert set(Subscription.objects.all()) == {other}


def test_many_go_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subscriptions.subscribers.leave.EXPIRED_AT_ONCE", 3)
    assert EXPIRED_AT_ONCE > 3
    UnconfirmedFactory.create_batch(10, subscribable=SubscribableFactory())
    assert expire_sign_ups(now=OVER) == 10
    assert not Destination.objects.exists()


def test_an_address_that_expires_while_it_signs_up_elsewhere_keeps_working() -> None:
    ask(SubscribableFactory())
    later = SubscribableFactory()
    ask(later, now=OVER - timedelta(days=1))
    assert expire_sign_ups(now=OVER) == 1
    assert Subscription.objects.get().subscribable == later
    assert Destination.objects.count() == 1
