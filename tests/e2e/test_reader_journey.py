"""Subscribe, confirm, manage and unsubscribe in twenty seconds, in a browser without scripts."""

from typing import Any

import pytest
from django.core.cache import cache

from subscriptions.models import Notice, Subscription
from tests.e2e.browser.screens import NARROW, WIDE
from tests.factories import SubscribableFactory, an_issue

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def text(page: Any) -> str:
    return str(page.locator("main").inner_text())


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
def test_no_page_is_wider_than_its_screen(page: Any, live_server: Any, settings: Any) -> None:
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
