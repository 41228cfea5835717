"""A letter's own links: another frequency, a pause, another name, unsubscribing, and returning."""

from typing import Any

import pytest
from playwright.sync_api import expect

from subscriptions import links
from subscriptions.models import Subscription
from tests.e2e.browser.screens import look_at
from tests.factories import FeedFactory, SubscribableFactory, SubscriptionFactory

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def reader(site: str) -> Subscription:
    """Return a subscriber of a daily newsletter; a weekly one has the same feeds."""
    feeds = [FeedFactory()]
    daily = SubscribableFactory(name="daily", title="The Daily", arrangement="daily", feeds=feeds)
    SubscribableFactory(name="weekly", title="The Weekly", arrangement="weekly", feeds=feeds)
    made: Subscription = SubscriptionFactory(subscribable=daily, display_name="Ada")
    return made


def test_another_pace_and_a_pause(page: Any, reader: Subscription) -> None:
    page.goto(links.manage_url(reader))
    look_at(page, "manage")
    page.get_by_role("button", name="Get this instead").click()
    expect(page.locator("main")).to_contain_text("Until then you still get The Daily")
    look_at(page, "manage-switching")
    page.get_by_role("button", name="Keep The Daily").click()
    page.get_by_role("button", name="For two weeks").click()
    expect(page.locator("main")).to_contain_text("Paused until")
    look_at(page, "manage-paused")
    page.get_by_role("button", name="Resume subscription").click()
    page.get_by_label("Until another day").fill("2020-01-01")
    page.get_by_role("button", name="Pause", exact=True).click()
    look_at(page, "manage-mistake")


def test_leaving_and_coming_back(page: Any, reader: Subscription) -> None:
    page.goto(links.unsubscribe_url(reader))
    look_at(page, "leave")
    page.get_by_role("button", name="Unsubscribe from The Daily").click()
    reader.refresh_from_db()
    assert reader.status == "unsubscribed"
    expect(page.locator("main")).to_contain_text("You’re unsubscribed")
    look_at(page, "left")
    page.goto(links.manage_url(reader))
    look_at(page, "manage-left")
