"""Clicks and seconds from `make run` to the first letter.

The one-time link in a browser. Django's test client sends no Origin, so it skips part of CSRF.
"""

import re
import shutil
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from common.clock import utcnow
from feedletter_site.sign_in.setup import offer_setup
from tests.databases import migrated_file
from tests.e2e.browser.screens import Seen, look_at
from tests.e2e.processes import until
from tests.e2e.test_up import Site, up
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = [pytest.mark.slow, pytest.mark.browser]
MOST_CLICKS = 9


class NoServer:
    """Replacement for a mail server: mail stays in the mailbox."""

    url = "mailbox:"


@pytest.fixture
def blog() -> Iterator[str]:
    day = timedelta(days=1)
    posts = [
        {
            "guid": f"{number}",
            "title": f"The harbour in winter {number}",
            "link": f"https://blog.example.org/{number}",
            "description": "Ice on the ropes.",
            "published": utcnow() - number * day,
        }
        for number in (1, 2, 3, 4)
    ]
    with FeedServer() as server:
        about = "<description>Words about boats.</description>"
        yield server.serve("/feed.xml", rss(posts, title="Harbour News", extra=about))


class Newcomer:
    """Person in a browser whose clicks are counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.clicks = page, 0

    def click(self, role: str, name: str, *, exact: bool = True) -> None:
        self.clicks += 1
        self.page.get_by_role(role, name=name, exact=exact).first.click()
        self.page.wait_for_load_state()

    def see(self, words: str) -> None:
        self.page.get_by_text(words).first.wait_for()


def test_a_newcomer_has_a_letter_after_a_few_clicks(browser: Any, blog: str, tmp_path: Path) -> None:
    began = time.monotonic()
    context = browser.new_context(viewport={"width": 1280, "height": 900}, timezone_id="Europe/Paris")
    context.set_default_timeout(20_000)
    # An empty folder is for `test_up.py`.
    (tmp_path / "data").mkdir()
    shutil.copy(migrated_file(), tmp_path / "data" / "feedletter.db")
    with up(tmp_path, NoServer()) as site:  # type: ignore[arg-type]
        seen = Seen()
        newcomer = Newcomer(seen.watched(context.new_page()))
        first_letter(newcomer, site, blog)
        # Not held to a limit: with other tests on a slow machine, most of it is their work.
        said = f"newcomer to first letter: {newcomer.clicks} clicks, {time.monotonic() - began:.0f} seconds"
        print(f"\n{said}")  # noqa: T201
        assert newcomer.clicks <= MOST_CLICKS
        assert not seen.complaints
    context.close()


def first_letter(newcomer: Newcomer, site: Site, blog: str) -> None:
    page = newcomer.page
    page.goto(f"{site.url}/admin/")
    newcomer.see("printed a link")
    found = until(lambda: re.search(r"http://\S+/setup/\S+/", site.said()), "the link")
    page.goto(found[0])
    page.fill("input[name=email]", "ada@example.org")
    page.fill("input[name=password]", "a-long-pass-17")
    look_at(page, "set-up")
    newcomer.click("button", "Create your account")
    look_at(page, "overview-empty")
    newcomer.click("link", "Add a feed")
    page.fill("input[name=url]", blog)
    newcomer.click("button", "Find feeds")
    newcomer.click("button", "Add this feed")
    newcomer.click("link", "Create a newsletter from this feed")
    page.wait_for_load_state("load")
    begun = {name: page.input_value(f"[name={name}]") for name in ("title", "description", "at", "time_zone")}
    assert begun == {
        "title": "Harbour News",
        "description": "Words about boats.",
        "at": "07:00",
        "time_zone": "Europe/Paris",
    }
    page.get_by_title("Light mode").wait_for()
    assert visible_fields(page) == ["title", "arrangement", "time_zone"]
    look_at(page, "new-newsletter")
    newcomer.click("button", "Create")
    newcomer.see("Your first subscriber gets the newest issue")
    look_at(page, "newsletter-created")
    newcomer.click("link", "Subscribe yourself")
    assert page.input_value("input[name=email_email]") == "ada@example.org"
    newcomer.click("button", "Save")
    newcomer.click("link", "Open the mailbox")
    until(lambda: _has_letter(page), "the letter", 240)
    # One if the posts had settled before there was a reader; else each of “the last few”.
    assert 1 <= page.get_by_text("The harbour in winter").count() <= 3


def visible_fields(page: Any) -> list[str]:
    """Return the names of the form's visible fields."""
    fields = "#subscribable_form :is(input, select, textarea):not([type=hidden])"
    seen = "all => all.filter(each => each.checkVisibility() && each.name).map(each => each.name)"
    names: list[str] = page.eval_on_selector_all(fields, seen)
    return names


def _has_letter(page: Any) -> bool:
    page.wait_for_timeout(1_000)
    page.reload()
    return bool(page.get_by_text("The harbour in winter 1").count())


@pytest.mark.django_db(transaction=True)
def test_the_first_admin_is_made_and_lands_in_the_admin(
    browser: Any, live_server: Any, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    settings.SITE_URL = live_server.url
    page = browser.new_page()
    page.set_default_timeout(10_000)
    page.goto(live_server.url + str(offer_setup()))
    page.fill("input[name=email]", "ada@example.org")
    page.fill("input[name=password]", "a-long-pass-17")
    page.click("button[type=submit], input[type=submit]")
    page.wait_for_url("**/admin/")
    assert get_user_model().objects.get().is_superuser
