"""A newsletter's records in the admin."""

import pytest
from django.test import Client

from common.refused import Refused
from delivery.bridges.records import NOT_PUBLIC, switch_on
from subscriptions.models import Destination, Subscribable, Subscription
from tests.delivery.recorded import an_account, recorded
from tests.factories import NOW, DestinationFactory, SubscribableFactory
from tests.servers.services.bluesky import DID, HANDLE

pytestmark = pytest.mark.django_db
LIST = "/admin/subscriptions/subscribable/"


def share(admin: Client, newsletter: Subscribable) -> str:
    return admin.get(f"{LIST}{newsletter.pk}/change/?tab=share").content.decode()


def act(admin: Client, action: str, newsletter: Subscribable, **answers: object) -> str:
    posted = {"action": action, "_selected_action": newsletter.pk, "confirmed": "1", **answers}
    return admin.post(LIST, posted, follow=True).content.decode()


def test_a_newsletter_gets_records_of_a_bridges_account(admin_client: Client) -> None:
    newsletter = SubscribableFactory()
    assert "Add a bridge to Bluesky first" in share(admin_client, newsletter)
    account = an_account()
    assert "Add a bridge to Bluesky first" not in share(admin_client, newsletter)
    assert "Its next issues become records" in act(
        admin_client, "publish_records", newsletter, **{"with-account": account.pk}
    )
    newsletter.refresh_from_db()
    assert newsletter.companions == "standard_site"
    page = share(admin_client, newsletter)
    assert f"@{HANDLE}" in page
    assert f"at://{DID}/site.standard.publication/" in page
    assert "Publish for AT Protocol readers" not in page
    act(admin_client, "stop_records", newsletter)
    newsletter.refresh_from_db()
    assert newsletter.companions == ""
    assert Subscription.objects.get().status != "confirmed"
    act(admin_client, "publish_records", newsletter, **{"with-account": account.pk})
    assert Subscription.objects.get().status == "confirmed"


def test_another_account_replaces_the_first(admin_client: Client) -> None:
    newsletter = recorded()
    other = DestinationFactory(kind="bluesky", core="did:web:wasps.example", label="@wasps.example")
    for _ in range(2):
        switch_on(newsletter, other, now=NOW)
    confirmed = Subscription.objects.filter(status="confirmed")
    assert confirmed.get().destination.label == "@wasps.example"
    assert newsletter.companions == "standard_site"


def test_an_account_that_was_disabled_is_said(admin_client: Client) -> None:
    newsletter = recorded()
    Destination.objects.filter(kind="standard_site").update(disabled_at=NOW, disabled_reason="It is closed.")
    assert "Nothing is written: It is closed." in share(admin_client, newsletter)
    switch_on(newsletter, Destination.objects.get(kind="bluesky"), now=NOW)
    assert "Nothing is written" not in share(admin_client, newsletter)


@pytest.mark.parametrize("visibility", ["unlisted", "private"])
def test_only_public_newsletters_have_records(admin_client: Client, visibility: str) -> None:
    newsletter = SubscribableFactory(visibility=visibility)
    with pytest.raises(Refused, match=NOT_PUBLIC[:40]):
        switch_on(newsletter, an_account(), now=NOW)
    assert "AT Protocol" not in share(admin_client, newsletter)
