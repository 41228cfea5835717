import pytest

from subscriptions.models import Destination, Subscription
from tests.console import json_of, printed, refused
from tests.factories import DeliveryFactory, SubscriptionFactory, SuppressionFactory

pytestmark = pytest.mark.django_db


def test_it_erases_and_says_how_much() -> None:
    one = SubscriptionFactory(destination__core="ada@example.org")
    DeliveryFactory.create_batch(2, subscription=one, state="sent")
    row = json_of("erase_destination", "Ada <ADA@example.org>")
    assert (row["address"], row["suppressed"]) == ("ada@example.org", False)
    assert (row["erased"]["subscriptions"], row["erased"]["mails"]) == (1, 2)
    assert not Subscription.objects.exists()
    assert not Destination.objects.filter(core="ada@example.org").exists()


def test_it_says_what_stays() -> None:
    SubscriptionFactory(destination__core="ada@example.org")
    SuppressionFactory(core="ada@example.org")
    said = printed("erase_destination", "ada@example.org")
    assert "is erased: 1 subscription, 0 emails." in said
    assert "stays on the “Do not email” list" in said


@pytest.mark.parametrize(
    ("address", "said"),
    [("eve@example.org", "Nothing is stored about"), ("nonsense", "isn’t an email address")],
)
def test_it_refuses(address: str, said: str) -> None:
    assert said in refused("erase_destination", address)
