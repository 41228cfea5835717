"""Device notifications in the admin: offered, counted, previewed, erased."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client

from common.clock import utcnow
from common.ports import channels
from common.ports.personal_data import sources
from subscriptions.lists.export import export_subscribers
from subscriptions.models import Destination, Subscribable, Subscription
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from subscriptions.privacy.erase import erase
from subscriptions.privacy.personal_data import held_as_json
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.devices import tell_device
from tests.delivery.own_letters import a_read_feed
from tests.factories import NOW, BridgeFactory, FeedFactory, SubscribableFactory, SubscriptionFactory
from tests.subscriptions.subscribers.test_devices import a_device

pytestmark = pytest.mark.django_db


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create_superuser("ada", "ada@example.org"))
    return client


def offering(**changes: Any) -> Any:
    return SubscribableFactory(offers_devices=True, feeds=[a_read_feed()], **changes)


def told(newsletter: Any) -> Subscription:
    return tell_device(newsletter=newsletter, data=a_device(), origin=Origin(), now=NOW)


def page_of(admin: Client, newsletter: Any, tab: str = "") -> str:
    return admin.get(f"/admin/subscriptions/subscribable/{newsletter.pk}/change/?tab={tab}").content.decode()


def test_a_newsletters_page_shows_how_its_newest_post_is_told_and_how_many_devices(admin: Client) -> None:
    newsletter = offering(title="Weekly <b>")
    page = page_of(admin, newsletter, "look")
    assert "No device gets notifications yet" in page
    assert "<strong>Post 0</strong><br>Weekly &lt;b&gt;" in page
    told(newsletter)
    assert "No device gets notifications yet" not in page_of(admin, newsletter, "look")
    assert "With notifications on a device" in page_of(admin, newsletter, "subscribers")


def test_a_newsletter_that_does_not_offer_it_says_nothing_of_it(admin: Client) -> None:
    assert "A notification on devices" not in page_of(admin, SubscribableFactory(), "look")


def test_a_newsletter_without_posts_says_so(admin: Client) -> None:
    page = page_of(admin, SubscribableFactory(offers_devices=True), "look")
    assert "There is no post to show yet" in page


def test_its_settings_have_the_switch(admin: Client) -> None:
    assert 'name="offers_devices"' in page_of(admin, SubscribableFactory(), "settings")


@pytest.mark.parametrize("changes", [{"visibility": "private"}])
def test_what_has_no_page_cannot_offer_it(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="offer"):
        alter_subscribable(subscribable=SubscribableFactory(), offers_devices=True, **changes)
    with pytest.raises(ValidationError, match="bridge"):
        alter_subscribable(subscribable=BridgeFactory(), offers_devices=True)


def test_nothing_is_defined_with_the_channel_itself() -> None:
    with pytest.raises(ValidationError, match="can’t be a newsletter"):
        define_subscribable(name="pushes", feeds=[FeedFactory()], channel="webpush")
    assert "webpush" not in {kind.key for kind in channels.newsletter_kinds()}
    assert "webpush" not in {kind.key for kind in channels.bridge_kinds()}


def test_an_exported_list_has_no_devices() -> None:
    newsletter = offering()
    SubscriptionFactory(subscribable=newsletter, destination__core="ada@example.org")
    told(newsletter)
    assert len(list(export_subscribers(subscribable=newsletter))) == 2


def test_a_device_is_a_person_who_may_know_what_is_held_and_have_it_erased(admin: Client) -> None:
    device = told(offering()).destination
    secret = device.label
    held = "".join(held_as_json(device, now=utcnow()))
    assert device.label in held
    assert "push.example/1" not in held
    page = admin.get(f"/admin/subscriptions/destination/{device.pk}/change/").content.decode()
    assert "Erase this person" in page
    erase(destination=device, now=utcnow())
    device.refresh_from_db()
    assert secret not in f"{device.core} {device.label}"
    assert not device.secrets
    assert not Subscription.objects.exists()
    assert {holding.count(device) for holding in sources if holding.key != "address_record"} == {0}


def test_the_list_of_people_finds_devices_by_their_channel(admin: Client) -> None:
    told(offering())
    page = admin.get("/admin/subscriptions/destination/?kind=webpush").content.decode()
    assert Destination.objects.get().label in page
    assert Subscribable.objects.get().offers_devices
