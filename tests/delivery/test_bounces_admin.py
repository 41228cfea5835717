"""Bounces in the admin."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.models import Bounce
from subscriptions.models import Suppression
from tests.factories import BounceFactory

pytestmark = pytest.mark.django_db


def page(client: Client, name: str, *args: Any, **query: str) -> str:
    return client.get(reverse(f"admin:{name}", args=args), query).content.decode()


def test_bounces_can_be_searched_and_filtered(admin_client: Client) -> None:
    BounceFactory(diagnostic="550 5.1.1 Nobody of that name")
    BounceFactory(kind="soft", diagnostic="Mailbox <b>full</b>")
    found = page(admin_client, "delivery_bounce_changelist", q="full")
    assert "Mailbox &lt;b&gt;full&lt;/b&gt;" in found
    assert "Nobody of that name" not in found
    assert "Nobody of that name" in page(admin_client, "delivery_bounce_changelist", kind__exact="hard")


def test_a_delivery_a_subscriber_and_an_address_tell_what_came_back(admin_client: Client) -> None:
    bounce = BounceFactory(diagnostic="550 <i>gone</i>")
    other = BounceFactory(diagnostic="550 somebody else")
    delivery = bounce.delivery
    for name, row in (
        ("delivery_delivery", delivery),
        ("subscriptions_subscription", delivery.subscription),
        ("subscriptions_destination", delivery.destination),
    ):
        shown = page(admin_client, f"{name}_change", row.pk)
        assert "550 &lt;i&gt;gone&lt;/i&gt;" in shown
        assert other.diagnostic not in shown


@pytest.mark.parametrize(("action", "count"), [("suppress_held", 1), ("let_be", 0)])
def test_a_person_decides_on_what_is_held(admin_client: Client, action: str, count: int) -> None:
    held, settled = BounceFactory(held=True), BounceFactory()
    assert "1 bounce is held for you" in page(admin_client, "index")
    chosen = {"action": action, "_selected_action": [held.pk, settled.pk]}
    admin_client.post(reverse("admin:delivery_bounce_changelist"), chosen)
    assert Suppression.objects.count() == count
    assert not Bounce.objects.filter(held=True).exists()
    assert "held for you" not in page(admin_client, "index")
