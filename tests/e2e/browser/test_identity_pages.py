"""A site with a name, logo and colour, from the admin's forms to readers' pages."""

import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import expect

from common.pictures.codec import clean_picture
from delivery.customisation import set_theme
from delivery.models import Theme
from subscriptions.branding.brands import alter_site, site_facts
from tests.e2e.browser.screens import PICTURES, look_at, sign_in
from tests.factories import NOW, IssueFactory, IssueItemFactory, SubscribableFactory, an_entry
from tests.pictures import octets_of

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


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
