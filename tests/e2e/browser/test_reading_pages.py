"""Readers find a newsletter, subscribe, confirm, and read past issues.

A site with a name, logo and colour, from the admin's forms to readers' pages.
The form for other sites, and the pages at upstream's URLs.
"""

import hashlib
import io
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from common.pictures.codec import clean_picture
from delivery.customisation import set_theme
from delivery.models import Theme
from subscriptions.branding.brands import alter_site, site_facts
from subscriptions.models import Notice, Subscription
from tests.e2e.browser.screens import PICTURES, focused, look_at, sign_in
from tests.factories import (
    NOW,
    FeedFactory,
    IssueFactory,
    IssueItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
    an_entry,
)
from tests.pictures import octets_of

SALT = "pepper"
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


def a_mark() -> bytes:
    image = Image.new("RGBA", (192, 192), (0, 0, 0, 0))
    pen = ImageDraw.Draw(image)
    pen.ellipse((4, 4, 188, 188), fill="#0b6e4f")
    pen.polygon([(96, 40), (150, 140), (42, 140)], fill="#ffffff")
    return octets_of(image)


def a_header() -> bytes:
    image = Image.linear_gradient("L").resize((1200, 360)).convert("RGB")
    green = Image.new("RGB", image.size, "#0b6e4f")
    return octets_of(Image.blend(image, green, 0.6), "JPEG", quality=90)


@pytest.fixture
def harbour(db: None) -> Any:
    letter = SubscribableFactory(
        name="weekly", title="The Harbour Weekly", description="The week by the water, on Monday morning."
    )
    out = IssueFactory(subscribable=letter, title="Low water", published_at=NOW)
    for place in range(2):
        text = "<p>The herons stood where in other years the <a href='https://x.example/'>water</a> is.</p>"
        entry = an_entry(place, title=f"Walk {place + 1}", content=text * 3)
        IssueItemFactory(issue=out, position=place, entry=entry.to_json())
    SubscribableFactory(name="ferry", title="Notes for the ferry home", description="Twice a week.")
    return out


def shot(page: Any, name: str) -> None:
    if PICTURES:
        scheme = "dark" if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches") else "light"
        screen = f"{page.viewport_size['width']}-{scheme}"
        page.screenshot(path=Path(PICTURES) / f"{name}-{screen}.png", full_page=True)


def by_forms(page: Any, site: str, subscribable: int) -> None:
    sign_in(page, site)
    page.goto(f"{site}/admin/subscriptions/sitesettings/")
    page.get_by_label("Name", exact=True).fill("Harbour News")
    page.get_by_label("About").fill("What the water brings, in letters.")
    page.locator("input[name=logo]").set_input_files(
        {"name": "logo.png", "mimeType": "image/png", "buffer": a_mark()}
    )
    # As the browser's own colour picker does.
    page.get_by_label("Choose a colour").fill("#0b6e4f")
    expect(page.locator("input[name=accent]")).to_have_value("#0b6e4f")
    page.get_by_label("Imprint").fill("https://harbour.example/imprint")
    page.get_by_label("Privacy").fill("https://harbour.example/privacy")
    page.locator("[name=_save]").first.click()
    page.wait_for_load_state()
    assert site_facts().name == "Harbour News"
    shot(page, "site-settings")
    page.goto(f"{site}/admin/subscriptions/subscribable/{subscribable}/change/?tab=look")
    page.locator("input[name=header_picture]").set_input_files(
        {"name": "header.jpg", "mimeType": "image/jpeg", "buffer": a_header()}
    )
    page.locator("[name=_save]").first.click()
    page.wait_for_load_state()
    assert Theme.objects.get().header_picture_id
    shot(page, "look-form")


def by_services(subscribable: Any) -> None:
    """Set the identity by services, because the admin's pages need scripts."""
    alter_site(
        name="Harbour News",
        about="What the water brings, in letters.",
        logo=clean_picture(io.BytesIO(a_mark())),
        accent="#0b6e4f",
        imprint_url="https://harbour.example/imprint",
    )
    set_theme(subscribable=subscribable, header_picture=clean_picture(io.BytesIO(a_header())))


def test_a_site_gets_a_name_a_logo_and_a_colour(page: Any, site: str, harbour: Any) -> None:
    if page.is_plain:
        by_services(harbour.subscribable)
    else:
        by_forms(page, site, harbour.subscribable_id)

    page.goto(site)
    expect(page.get_by_role("heading", level=1)).to_have_text("Harbour News")
    look_at(page, "identity-directory")
    page.goto(f"{site}/s/weekly/")
    expect(page.locator(".banner")).to_have_attribute(
        "src", re.compile(r"/pictures/[0-9a-f]{40}\.(jpg|png)$")
    )
    look_at(page, "identity-newsletter")
    page.goto(f"{site}/s/weekly/archive/{harbour.pk}/")
    look_at(page, "identity-issue")
    page.goto(f"{site}/sign-in/")
    look_at(page, "identity-sign-in")
    page.goto(f"{site}/s/weekly/embed/")
    shot(page, "identity-embed")


def link(act: str, number: int) -> str:
    octets = number.to_bytes(8, "big") + SALT.encode() + f"{act.capitalize()}Suffix".encode()
    return f"/v0/subscription/{act}?subscriptionId={number}&invitation={hashlib.sha3_256(octets).hexdigest()}"


def test_the_embedded_form(page: Any, site: str) -> None:
    SubscribableFactory(name="weekly", title="Cedar Weekly")
    page.goto(f"{site}/s/weekly/embed/")
    look_at(page, "embed")
    page.get_by_label("Your email address").fill("ada@localhost")
    page.get_by_role("button").click()
    page.locator(".error").wait_for()
    look_at(page, "embed-error")
    page.get_by_label("Your email address").fill("ada@example.org")
    page.get_by_role("button").click()
    page.get_by_role("status").wait_for()
    look_at(page, "embed-done")
    page.get_by_role("link", name="Use another address").click()
    assert page.get_by_label("Your email address").input_value() == ""


def test_a_closed_newsletter_in_a_frame(page: Any, site: str) -> None:
    SubscribableFactory(name="weekly", sign_up="closed")
    page.goto(f"{site}/s/weekly/embed/")
    look_at(page, "embed-closed")


def test_old_links_and_forms(page: Any, site: str, settings: Any) -> None:
    settings.UPSTREAM_SALT = SALT
    letter = SubscribableFactory(name="weekly", title="Cedar Weekly")
    SubscriptionFactory(upstream_id=42, subscribable=letter)
    UnconfirmedFactory(upstream_id=43, subscribable=letter, added_at=timezone.now(), confirm_nonce="")
    form = "/v0/subscription/create?subscribableName=weekly&addressPart=ada@example.org&displayNamePart=Ada"
    for name, path in {
        "v0-create": form,
        "v0-refused": "/v0/subscription/create",
        "v0-confirm": link("confirm", 43),
        "v0-remove": link("remove", 42),
        "v0-gone": link("remove", 44),
    }.items():
        page.goto(site + path)
        look_at(page, name)
    settings.UPSTREAM_SALT = ""
    page.goto(site + link("remove", 42))
    look_at(page, "v0-uncheckable")
    page.goto(site + form)
    page.get_by_role("button", name="Subscribe to Cedar Weekly").click()
    page.get_by_role("heading", name="Check your email").wait_for()


def test_an_old_link_leads_all_the_way(page: Any, site: str, settings: Any) -> None:
    settings.UPSTREAM_SALT = SALT
    leaves = SubscriptionFactory(upstream_id=42, subscribable__title="Cedar Weekly")
    page.goto(site + link("remove", 42))
    page.get_by_role("button", name="Unsubscribe from Cedar Weekly").click()
    page.get_by_role("heading", name="You’re unsubscribed").wait_for()
    leaves.refresh_from_db()
    assert leaves.status == "unsubscribed"
    comes = UnconfirmedFactory(upstream_id=43, added_at=timezone.now(), confirm_nonce="")
    page.goto(site + link("confirm", 43))
    page.get_by_role("button", name="Confirm").click()
    page.get_by_role("heading", name="You’re subscribed").wait_for()
    comes.refresh_from_db()
    assert comes.status == "confirmed"
