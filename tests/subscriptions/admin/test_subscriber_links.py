"""A subscriber's links and switches in the admin."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from subscriptions import links
from subscriptions.models import FrequencyChange, Subscription
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def test_revoking_asks_first_and_then_kills_the_links_of_old_letters(admin_client: Client) -> None:
    subscription = SubscriptionFactory()
    there = links.unsubscribe_url(subscription).removeprefix("http://127.0.0.1:8000")
    assert admin_client.get(there).status_code == 200
    url = reverse("admin:subscriptions_subscription_changelist")
    chosen: dict[str, Any] = {"action": "revoke", "_selected_action": [subscription.pk]}
    asked = admin_client.post(url, chosen).content.decode()
    assert "stop working, including the unsubscribe links" in asked
    assert admin_client.get(there).status_code == 200
    assert admin_client.post(url, {**chosen, "confirmed": "yes"}).status_code == 302
    assert admin_client.get(there).status_code == 400
    fresh = links.unsubscribe_url(Subscription.objects.get()).removeprefix("http://127.0.0.1:8000")
    assert admin_client.get(fresh).status_code == 200


def test_a_subscribers_page_tells_of_the_switch(admin_client: Client) -> None:
    old = SubscriptionFactory(subscribable__title="The Daily")
    new = SubscriptionFactory(
        destination=old.destination, subscribable=SubscribableFactory(title="The Weekly")
    )
    made = FrequencyChange.objects.create(old=old, new=new, rarer=new.subscribable, at=NOW)
    for subscription, said in ((old, "Changes to"), (new, "Changes from")):
        url = reverse("admin:subscriptions_subscription_change", args=[subscription.pk])
        assert said in admin_client.get(url).content.decode()
    FrequencyChange.objects.filter(pk=made.pk).update(settled_at=NOW)
    url = reverse("admin:subscriptions_subscription_change", args=[old.pk])
    assert "Changed to" in admin_client.get(url).content.decode()


def test_the_form_of_a_new_subscriber_asks_the_database_a_few_times(
    admin_client: Client, django_assert_max_num_queries: Any
) -> None:
    SubscribableFactory.create_batch(3)
    with django_assert_max_num_queries(9):
        admin_client.get(reverse("admin:subscriptions_subscription_add"))
