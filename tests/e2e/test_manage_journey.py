"""A reader changes frequency, pauses, unsubscribes and stays, in a browser without scripts."""

from typing import Any

import pytest

from subscriptions import links
from subscriptions.models import FrequencyChange, Subscription
from tests.e2e.browser.screens import NARROW, WIDE
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


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
