"""A reader changes frequency, pauses, unsubscribes and stays, in a browser without scripts.

A reader gets a newsletter by SMS, in a browser without scripts: number, code, unsubscribing.
Subscribe, confirm, manage and unsubscribe in twenty seconds, in a browser without scripts.
"""

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from subscriptions import links
from subscriptions.models import FrequencyChange, Notice, Subscribable, Subscription, Suppression
from tests.delivery.sms.conftest import newsletter, twilio  # noqa: F401 - fixtures
from tests.delivery.sms.texting import ACCOUNT, NUMBER, bodies, code_in, go_out, tell
from tests.e2e.browser.screens import NARROW, WIDE
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory, an_issue
from tests.servers.services.twilio import Twilio

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def text(page: Any) -> str:
    return str(page.locator("main").inner_text())


@pytest.fixture
def reader(live_urls: str) -> Subscription:
    feeds = [FeedFactory()]
    daily = SubscribableFactory(name="daily", title="The Daily", arrangement="daily", feeds=feeds)
    SubscribableFactory(name="weekly", title="The Weekly", arrangement="weekly", feeds=feeds)
    made: Subscription = SubscriptionFactory(subscribable=daily)
    return made


def test_less_often_and_back(page: Any, reader: Subscription) -> None:
    page.goto(links.manage_url(reader))
    page.get_by_role("button", name="Get this instead").click()
    assert "Until then you still get The Daily" in text(page)
    page.get_by_role("button", name="Keep The Daily").click()
    assert "You still get The Daily" in text(page)
    assert not FrequencyChange.objects.exists()
    page.get_by_role("button", name="Get this instead").click()
    page.get_by_role("button", name="Change now").click()
    assert "You now get The Weekly" in text(page)
    assert "Newsletter\nThe Weekly" in text(page).replace("\n\n", "\n")


def test_a_pause_and_its_end(page: Any, reader: Subscription) -> None:
    page.goto(links.manage_url(reader))
    page.get_by_role("button", name="For two weeks").click()
    assert "Paused until" in text(page)
    page.get_by_role("button", name="Resume subscription").click()
    assert "Your subscription is active again." in text(page)
    page.get_by_label("Until another day").fill("2020-01-01")
    page.get_by_role("button", name="Pause", exact=True).click()
    assert "Paused until" not in text(page)
    assert Subscription.objects.get(pk=reader.pk).paused_until is None


def test_less_often_after_having_left(page: Any, reader: Subscription) -> None:
    page.goto(links.unsubscribe_url(reader))
    page.get_by_role("button", name="Unsubscribe from The Daily").click()
    assert Subscription.objects.get().status == "unsubscribed"
    page.get_by_role("button", name="Get this instead").click()
    assert "Until then you still get The Daily" in text(page)
    assert set(Subscription.objects.values_list("status", flat=True)) == {"confirmed"}


def test_no_page_is_wider_than_its_screen(page: Any, reader: Subscription) -> None:
    reader.subscribable.title = "W" * 120
    reader.subscribable.save()
    for url in (links.manage_url(reader), links.unsubscribe_url(reader)):
        page.goto(url)
        for width, height in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate("document.documentElement.scrollWidth") <= width, url


def test_a_number_a_code_a_message_and_stop(
    page: Any,
    twilio: Twilio,  # noqa: F811
    newsletter: Subscribable,  # noqa: F811
    live_server: Any,
    client: Client,
    settings: Any,
) -> None:
    settings.ALLOWED_HOSTS = ["*"]
    page.goto(f"{live_server.url}/s/{newsletter.name}/")
    page.get_by_label("Your mobile number").fill("+49 30 901820")
    page.get_by_role("button", name="Subscribe to").click()
    assert "can’t receive text messages" in text(page)
    page.get_by_label("Your mobile number").fill("0151 23456789")
    page.get_by_role("button", name="Subscribe to").click()
    assert "Check your phone" in text(page)
    assert "+49 1512 3456789" in text(page)
    go_out()
    code = code_in(bodies(twilio)[0])
    page.get_by_label("The code").fill(f"{(int(code) + 1) % 10**6:06}")
    page.get_by_role("button", name="Confirm").click()
    assert "That’s not the code" in text(page)
    assert "4 tries" in text(page)
    # A reload submits no form again.
    page.reload()
    assert "4 tries" in text(page)
    page.get_by_label("The code").fill(code)
    page.get_by_role("button", name="Confirm").click()
    assert "You’re subscribed" in text(page)
    assert Subscription.objects.get().status == "confirmed"
    link = page.get_by_role("link", name="Manage your subscription").get_attribute("href")
    page.goto(f"{live_server.url}/{link.split('/', 3)[3]}")
    assert page.get_by_role("link", name="Unsubscribe").count()
    tell(client, f"/sms/{ACCOUNT}/inbound/", {"From": NUMBER, "Body": "Stop"})
    assert Subscription.objects.get().status == "unsubscribed"
    assert Suppression.objects.get().core == NUMBER


@pytest.mark.slow
def test_a_reader_subscribes_confirms_renames_and_leaves(page: Any, live_server: Any, settings: Any) -> None:
    settings.SITE_URL = live_server.url
    cache.clear()
    letter = SubscribableFactory(name="weekly", title="Example Weekly")
    an_issue(subscribable=letter, title="The first issue")

    page.goto(live_server.url)
    page.get_by_role("link", name="Example Weekly").click()
    assert "The first issue" in text(page)
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Subscribe to Example Weekly").click()
    assert "Check your email" in text(page)

    page.goto(Notice.objects.get().context["confirm_url"])
    assert Subscription.objects.get().status == "unconfirmed"
    page.get_by_role("button", name="Confirm").click()
    assert "You’re subscribed" in text(page)
    assert Subscription.objects.get().status == "confirmed"

    page.get_by_role("link", name="Manage your subscription").click()
    assert page.get_by_label("Your name").input_value() == "Ada"
    page.get_by_label("Your name").fill("Ada Lovelace")
    page.get_by_role("button", name="Save", exact=True).click()
    assert "Saved." in text(page)
    assert Subscription.objects.get().display_name == "Ada Lovelace"

    page.get_by_role("link", name="Unsubscribe from Example Weekly").click()
    assert Subscription.objects.get().status == "confirmed"
    page.get_by_role("button", name="Unsubscribe from Example Weekly").click()
    assert "You’re unsubscribed" in text(page)
    assert Subscription.objects.get().status == "unsubscribed"

    page.get_by_role("button", name="Undo").click()
    assert "Welcome back" in text(page)
    assert Subscription.objects.get().status == "confirmed"


@pytest.mark.slow
def test_no_page_of_a_sign_up_is_wider_than_its_screen(page: Any, live_server: Any, settings: Any) -> None:
    settings.SITE_URL = live_server.url
    letter = SubscribableFactory(name="weekly", title="W" * 120, description="word" * 60)
    issue = an_issue(subscribable=letter, title="M" * 150)
    for path in ("/", "/s/weekly/", "/s/weekly/archive/", f"/s/weekly/archive/{issue.pk}/", "/manage/wrong/"):
        page.goto(live_server.url + path)
        for width, height in (WIDE, NARROW):
            page.set_viewport_size({"width": width, "height": height})
            box = page.locator("main").bounding_box()
            assert box["x"] + box["width"] <= width, path
            for heading in page.locator("h1, h2").all():
                assert heading.bounding_box()["width"] <= width, path
