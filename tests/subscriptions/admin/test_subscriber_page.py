"""Erasing a person from the page of an address.

A subscriber's links and switches in the admin.
"""

import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from subscriptions import links
from subscriptions.models import Destination, FrequencyChange, Subscription
from tests.factories import (
    NOW,
    DeliveryFactory,
    DestinationFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)

pytestmark = pytest.mark.django_db
LIST = reverse("admin:subscriptions_destination_changelist")


def act(client: Client, *rows: Destination, confirmed: bool = False) -> Any:
    posted: dict[str, Any] = {"action": "erase", "_selected_action": [row.pk for row in rows]}
    return client.post(LIST, posted | ({"confirmed": "1"} if confirmed else {}), follow=True)


def test_it_says_first_what_it_will_do(admin_client: Client) -> None:
    one = SubscriptionFactory(destination__core="ada@example.org")
    DeliveryFactory.create_batch(3, subscription=one)
    SuppressionFactory(core="ada@example.org")
    page = act(admin_client, one.destination).content.decode()
    assert "1 subscription and the record of 3 emails are deleted" in page
    assert "It stays on the “Do not email” list" in page
    assert Subscription.objects.exists()


def test_it_erases_and_says_so(admin_client: Client) -> None:
    one, other = SubscriptionFactory(), SubscriptionFactory()
    page = act(admin_client, one.destination, confirmed=True).content.decode()
    assert "The person’s data is erased: 1 subscription, 0 emails." in page
    assert list(Subscription.objects.all()) == [other]


def test_an_account_that_a_bridge_posts_to_is_nobodys(admin_client: Client) -> None:
    account = DestinationFactory(kind="mastodon", core="https://social.example/@bot")
    act(admin_client, account, confirmed=True)
    account.refresh_from_db()
    assert account.erased_at is None


def test_nobody_can_be_enabled_again(admin_client: Client) -> None:
    one = SubscriptionFactory().destination
    act(admin_client, one, confirmed=True)
    admin_client.post(LIST, {"action": "enable", "_selected_action": [one.pk]})
    one.refresh_from_db()
    assert one.disabled_at is not None
    page = admin_client.get(reverse("admin:subscriptions_destination_change", args=[one.pk])).content.decode()
    assert "Erase this person" not in page
    assert "Enable again" not in page


def test_it_takes_the_right_to_delete(client: Client) -> None:
    user = get_user_model().objects.create_user("viewer", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename="view_destination"))
    client.force_login(user)
    one = SubscriptionFactory().destination
    act(client, one, confirmed=True)
    assert Subscription.objects.exists()


def test_a_copy_of_somebodys_data_is_offered_and_takes_the_right_to_change(
    admin_client: Client, client: Client
) -> None:
    one = SubscriptionFactory(destination__core="ada@example.org", destination__label="ada@example.org")
    page = admin_client.get(reverse("admin:subscriptions_destination_change", args=[one.destination_id]))
    url = reverse("admin:subscriptions_destination_data", args=[one.destination_id])
    assert url in page.content.decode()
    answer = admin_client.get(url)
    assert answer.status_code == 200, answer
    data = json.loads(answer.getvalue())
    assert data["address"] == "ada@example.org"
    assert len(data["subscriptions"]) == 1
    user = get_user_model().objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_destination"))
    client.force_login(user)
    assert client.get(url).status_code == 403
    account = DestinationFactory(kind="mastodon", core="https://social.example/@bot")
    own = reverse("admin:subscriptions_destination_data", args=[account.pk])
    assert admin_client.get(own).status_code == 404


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
