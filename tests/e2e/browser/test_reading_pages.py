"""Readers find a newsletter, subscribe, confirm, and read past issues."""

from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import expect

from delivery.customisation import set_theme
from subscriptions.models import Notice, Subscription
from tests.e2e.browser.screens import focused, look_at
from tests.factories import NOW, FeedFactory, IssueFactory, IssueItemFactory, SubscribableFactory, an_entry

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEXT = (
    "<h1>What I saw</h1><p>The valley was <em>quiet</em>, and the <a href='https://blog.example/x'>river</a>"
    " low. It had not rained for weeks, and the herons stood where in other years the water is.</p>"
    "<blockquote><p>All is well that is well described.</p></blockquote>"
    "<ul><li>Two herons</li><li>A fox</li></ul>"
    "<pre><code>for bird in valley.birds(): note(bird)</code></pre>"
    "<table><tr><th>Bird</th><th>Seen</th></tr><tr><td>Heron</td><td>2</td></tr></table>"
    "<p>More of it next week, when the swallows are gone and the nights are long enough for owls.</p>"
)


def an_issue(letter: Any, number: int, posts: int = 3) -> Any:
    out = IssueFactory(
        subscribable=letter,
        title=f"Notes from the valley, {number}",
        published_at=NOW - timedelta(days=200) + timedelta(days=40 * number),
    )
    for place in range(posts):
        entry = an_entry(place, title=f"Walk {place + 1} of week {number}", content=TEXT)
        IssueItemFactory(issue=out, position=place, entry=entry.to_json())
    return out


@pytest.fixture
def valley(db: None) -> Any:
    """Create a weekly newsletter with six issues and a custom look, and two more newsletters."""
    feed = FeedFactory(title="Valley notes")
    letter = SubscribableFactory(
        name="valley",
        title="Notes from the valley",
        description="What grows, flies and flows along the river. Written by hand, once a week.",
        feeds=[feed],
        arrangement="weekly",
        at="07:00",
        time_zone="America/New_York",
        welcome="latest",
    )
    set_theme(subscribable=letter, accent="#ffd400")
    for number in range(1, 7):
        an_issue(letter, number)
    SubscribableFactory(
        name="valley-daily", title="The valley, daily", feeds=[feed], arrangement="daily", at="18:30"
    )
    SubscribableFactory(name="engines", title="Engines", description="Words about machines.")
    return letter


def text(page: Any) -> str:
    return str(page.locator("main").inner_text())


def confirm_url() -> str:
    return str(Notice.objects.get(kind="confirmation").context["confirm_url"])


def test_from_the_directory_to_the_welcome(page: Any, site: str, valley: Any) -> None:
    page.goto(site)
    look_at(page, "directory")
    page.get_by_role("link", name="Notes from the valley").click()
    expect(page.locator("main")).to_contain_text("Every Monday at 7:00, New York time")
    expect(page.locator("main")).to_contain_text("Notes from the valley, 6")
    look_at(page, "newsletter")
    page.get_by_label("Your email address").fill("ada@gmail.com")
    page.get_by_label("Your name").fill("Ada")
    page.get_by_role("button", name="Subscribe to Notes from the valley").click()
    expect(page.locator("main")).to_contain_text("We’ve emailed ada@gmail.com")
    page.get_by_role("link", name="Open Gmail").wait_for()
    look_at(page, "check-your-mail")

    page.goto(confirm_url())
    assert Subscription.objects.get().status == "unconfirmed"
    look_at(page, "confirm")
    page.get_by_role("button", name="Confirm").click()
    expect(page.locator("main")).to_contain_text("You’re subscribed")
    expect(page.locator("main")).to_contain_text("Walk 1 of week 6")
    assert Subscription.objects.get().status == "confirmed"
    look_at(page, "welcome")


def test_a_mistake_is_shown_where_it_is_and_can_be_mended(page: Any, site: str, valley: Any) -> None:
    page.goto(f"{site}/s/valley/")
    page.get_by_label("Your email address").fill("ada@localhost")
    page.get_by_role("button", name="Subscribe").click()
    email = page.get_by_label("Your email address")
    expect(page.locator("main")).to_contain_text("Please check it")
    assert email.get_attribute("aria-invalid") == "true"
    tied = page.locator(f"#{email.get_attribute('aria-describedby')}")
    assert "email address" in tied.inner_text()
    assert focused(page) == "email"
    look_at(page, "newsletter-mistake")

    email.fill("ada@example.org")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.locator("main")).to_contain_text("Check your email")
    page.get_by_text("Wrong address?").click()
    look_at(page, "check-your-mail-again")
    page.get_by_label("Your email address").fill("grace@example.org")
    page.get_by_role("button", name="Send it to this address").click()
    expect(page.locator("main")).to_contain_text("We’ve emailed grace@example.org")
    page.goto(str(Notice.objects.get(destination__core="grace@example.org").context["confirm_url"]))
    page.get_by_role("button", name="Confirm").click()
    assert Subscription.objects.get(destination__core="grace@example.org").status == "confirmed"


def test_past_issues_lead_to_one_another(page: Any, site: str, valley: Any) -> None:
    page.goto(f"{site}/s/valley/archive/")
    look_at(page, "archive")
    page.get_by_role("link", name="2025").click()
    assert "Notes from the valley, 6" not in text(page)
    page.get_by_role("link", name="Notes from the valley, 2", exact=True).click()
    expect(page.locator("main")).to_contain_text("Walk 1 of week 2")
    look_at(page, "issue")
    page.get_by_role("link", name="Notes from the valley, 3").click()
    expect(page.locator("main")).to_contain_text("Walk 1 of week 3")
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button", name="Subscribe to Notes from the valley").click()
    expect(page.locator("main")).to_contain_text("Check your email")


def test_several_at_once_with_one_mail(page: Any, site: str, valley: Any) -> None:
    page.goto(site)
    page.get_by_role("button", name="Subscribe").click()
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.locator("main")).to_contain_text("Choose at least one newsletter")
    look_at(page, "directory-mistake")
    page.get_by_label("Notes from the valley", exact=True).check()
    page.get_by_label("Engines", exact=True).check()
    look_at(page, "directory-chosen")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.locator("main")).to_contain_text("Click the button in the email to get")
    look_at(page, "check-your-mail-several")

    page.goto(confirm_url())
    look_at(page, "confirm-several")
    page.get_by_role("button", name="Confirm").click()
    assert Subscription.objects.filter(status="confirmed").count() == 2
    look_at(page, "welcome-several")


@pytest.mark.slow
def test_pages_that_have_little_to_say(page: Any, site: str) -> None:
    page.goto(site)
    expect(page.locator("main")).to_contain_text("There are no newsletters yet")
    look_at(page, "directory-empty")
    SubscribableFactory(name="new", title="Brand new", sign_up="closed")
    for path, name in (("/s/new/", "newsletter-empty"), ("/s/new/archive/", "archive-empty")):
        page.goto(site + path)
        look_at(page, name)
    for path, name in (("/nowhere/", "not-found"), ("/confirm/wrong/", "bad-link")):
        page.goto(site + path)
        look_at(page, name)
