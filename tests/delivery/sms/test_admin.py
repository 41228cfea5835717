"""SMS in the admin: the account, the preview of a newsletter, and the state of a message."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from delivery.letters.samples import NothingToShow
from delivery.models import Delivery, Lane, Receipt, ServiceAccount
from subscriptions.models import Subscribable
from subscriptions.newsletters.define import define_subscribable
from tests.delivery.own_letters import a_read_feed
from tests.delivery.sms.texting import ACCOUNT, SITE, a_reader, an_account
from tests.factories import DeliveryFactory, LaneFactory
from tests.servers.services.twilio import TOKEN, VALUES, Twilio

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _served(settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["*"]


def shown(client: Client, row: Any) -> str:
    page = client.get(reverse(f"admin:{row._meta.app_label}_{row._meta.model_name}_change", args=[row.pk]))
    assert page.status_code == 200
    return str(page.content.decode())


def test_an_account_is_added_and_says_what_twilio_has_to_know(admin_client: Client, twilio: Twilio) -> None:
    add = reverse("admin:delivery_serviceaccount_add")
    given = {f"sms_{name}": value for name, value in VALUES.items()}
    refused = admin_client.post(add, {"service": "sms", "name": ACCOUNT, **given, "sms_auth_token": "wrong"})
    assert "Authenticate" in refused.content.decode()
    assert admin_client.post(add, {"service": "sms", "name": ACCOUNT, **given}).status_code == 302
    page = shown(admin_client, ServiceAccount.objects.get())
    assert f"{SITE}/sms/{ACCOUNT}/inbound/" in page
    assert "10 to one recipient in a day" in page
    assert TOKEN not in page


def test_a_site_that_twilio_cannot_reach_is_said(admin_client: Client, twilio: Twilio, settings: Any) -> None:
    account = an_account()
    settings.SITE_URL = "http://127.0.0.1:8000"
    assert "cannot reach this site" in shown(admin_client, account)


def test_a_newsletter_shows_its_messages_as_a_phone_does(admin_client: Client, twilio: Twilio) -> None:
    an_account()
    made = define_subscribable(
        name="bees", title="Bees <b>&", feeds=[a_read_feed()], channel="sms", options={"account": ACCOUNT}
    )
    page = shown(admin_client, made)
    assert "How it looks on a phone" in page
    assert "1 part of 160, " in page
    assert "Bees &lt;b&gt;&amp;: Post 0" in page
    assert 'href="https://blog.example/p0"' in page
    assert "1,000 in 24 hours" in page
    assert "Send me a test" not in page


def test_one_whose_feed_has_no_posts_says_so(admin_client: Client, newsletter: Subscribable) -> None:
    assert "There is no post to show yet" in shown(admin_client, newsletter)
    assert NothingToShow.__doc__


def test_an_account_that_sends_newsletters_is_not_deleted(
    admin_client: Client, newsletter: Subscribable
) -> None:
    account = ServiceAccount.objects.get()
    page = admin_client.get(reverse("admin:delivery_serviceaccount_changelist"))
    assert "1 newsletter" in page.content.decode()
    admin_client.post(
        reverse("admin:delivery_serviceaccount_changelist"),
        {"action": "drop", "_selected_action": [account.pk], "confirmed": "yes"},
    )
    assert ServiceAccount.objects.exists()


def test_a_delivery_shows_what_twilio_told_later(admin_client: Client, newsletter: Subscribable) -> None:
    lane, reader = LaneFactory(kind="sms", account=ACCOUNT), a_reader(newsletter)
    row = DeliveryFactory(lane=lane, subscription=reader, issue__subscribable=newsletter, state="sent")
    Receipt.objects.create(delivery=row, status="undelivered", code="30003")
    page = shown(admin_client, Delivery.objects.get())
    assert "Did not arrive" in page
    assert "The phone was off or out of range." in page


def test_the_caps_are_changed_on_the_lanes_page(admin_client: Client, newsletter: Subscribable) -> None:
    lane = LaneFactory(kind="sms", account=ACCOUNT, per_recipient=10)
    assert "Most to one recipient in a day" in shown(admin_client, lane)
    mail = LaneFactory(kind="email", account="other")
    assert "one recipient in a day" not in shown(admin_client, mail)
    assert Lane.objects.count() == 2


def test_one_is_added_in_the_admin_and_its_options_are_checked(admin_client: Client, twilio: Twilio) -> None:
    an_account()
    feed = a_read_feed()
    given = {
        "name": "bees", "title": "Bees", "feeds": [feed.pk], "channel": "sms", "arrangement": "each",
        "day_of_month": "1", "time_zone": "Europe/Berlin", "grace_minutes": "60", "visibility": "public",
        "approval": "none", "content": "full", "post_order": "newest",
        "welcome": "none", "sign_up": "open", "language": "de",
        "sms_account": ACCOUNT, "sms_region": "Germany",
    }  # fmt: skip
    add = reverse("admin:subscriptions_subscribable_add")
    refused = admin_client.post(add, given)
    assert "two-character country code" in refused.content.decode()
    admin_client.post(add, {**given, "sms_region": "de"})
    made = Subscribable.objects.get()
    assert made.options == {"account": ACCOUNT, "region": "DE"}
    assert made.sign_up == "open"
    page = shown(admin_client, made)
    assert "Import a list" not in page
    site = admin_client.get(reverse("admin:subscriptions_subscribable_change", args=[made.pk]) + "?tab=site")
    assert f"{SITE}/s/bees/" in site.content.decode()
    assert 'name="email"' not in site.content.decode()
