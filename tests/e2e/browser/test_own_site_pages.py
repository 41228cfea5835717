"""A reader connects their own site, and posts to it by buttons beneath posts and by the form."""

from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from reader.micropub.send import send_due
from reader.models import Composition, Reader
from tests.e2e.browser.screens import look_at, sign_in
from tests.e2e.browser.test_reader_pages import ada, confirm, server
from tests.reader.conftest import own_site
from tests.reader.micropub.connected import connected, impatient, nothing_remembered, ours
from tests.servers.micropub_site import MicropubSite

__all__ = ["ada", "connected", "impatient", "nothing_remembered", "ours", "own_site", "server"]

NEEDS_APP = "reader"
pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    """Keep pictures in a folder of this test."""
    settings.DATA_DIR = tmp_path


def test_a_site_is_connected(page: Any, site: str, ada: Reader, ours: MicropubSite) -> None:
    sign_in(page, site, ada.user)
    page.goto(f"{site}/reader/compose/")
    look_at(page, "compose-unconnected")
    page.get_by_label("Your website’s address").fill("https://nobody.invalid")
    page.get_by_role("button", name="Connect").click()
    confirm(page)
    page.get_by_text("This site couldn’t be connected.").wait_for()
    look_at(page, "compose-no-site")
    page.get_by_label("Your website’s address").fill(ours.site.me)
    page.get_by_role("button", name="Connect").click()
    page.get_by_role("button", name="Disconnect website").wait_for()
    look_at(page, "compose-connected")


def test_what_is_written_says_where_it_went(
    page: Any, site: str, connected: Reader, ours: MicropubSite, impatient: None
) -> None:
    ours.config = {
        **(ours.config or {}),
        "syndicate-to": [{"uid": "m", "name": "@ada@tide.example (Mastodon)"}],
    }
    sign_in(page, site, connected.user)
    page.goto(f"{site}/reader/")
    page.get_by_role("button", name="Like").first.click()
    page.get_by_text("A like:").wait_for()
    send_due()
    page.goto(f"{site}/reader/")
    expect(page.locator(".reaction").first).to_contain_text("A like: posted")
    look_at(page, "compose-buttons")
    page.get_by_role("link", name="Reply").first.click()
    look_at(page, "compose-reply")
    page.get_by_label("Text").fill("Well said.\n\nAnd so it was.")
    page.get_by_role("button", name="Post on 127.0.0.1").click()
    page.get_by_role("heading", name="Sending").wait_for()
    look_at(page, "compose-waiting")
    send_due()
    page.goto(page.url)
    page.get_by_role("heading", name="Posted").wait_for()
    look_at(page, "compose-posted")
    page.get_by_role("link", name="Write another post").click()
    page.get_by_label("Text").fill("A picture of the harbour.")
    page.get_by_role("button", name="An article").click()
    expect(page.get_by_label("Text")).to_have_value("A picture of the harbour.")
    page.get_by_label("Title").fill("What the tide brought, and what it left behind on the stones")
    picture = BytesIO()
    Image.new("RGB", (640, 480), (31, 95, 139)).save(picture, "PNG")
    page.get_by_text("Pictures").click()
    file = {"name": "a.png", "mimeType": "image/png", "buffer": picture.getvalue()}
    page.get_by_label("Picture", exact=True).first.set_input_files(file)
    page.get_by_label("Picture description").first.fill("The harbour at noon")
    look_at(page, "compose-article")
    page.get_by_role("button", name="Save draft").click()
    page.get_by_text("The harbour at noon").wait_for()
    look_at(page, "compose-draft")
    ours.slow = 1.0
    ours.lists_posts = False
    page.get_by_role("button", name="Post on 127.0.0.1").click()
    page.get_by_role("heading", name="Sending").wait_for()
    send_due()
    page.goto(page.url)
    page.get_by_role("heading", name="Possibly posted").wait_for()
    look_at(page, "compose-unsure")
    page.get_by_role("button", name="It was posted", exact=True).click()
    page.get_by_text("return").wait_for()
    ours.slow, ours.scopes = 0.0, ""
    page.goto(f"{site}/reader/compose/?kind=rsvp&url=https://example.org/a-feast")
    look_at(page, "compose-rsvp")
    page.get_by_role("button", name="Post on 127.0.0.1").click()
    page.get_by_role("heading", name="Sending").wait_for()
    send_due()
    page.goto(page.url)
    page.get_by_role("heading", name="Not posted").wait_for()
    look_at(page, "compose-refused")
    page.goto(f"{site}/reader/compose/")
    look_at(page, "compose-list")
    assert Composition.objects.count() == len(ours.posts) + 1 == 4
