"""Somebody reads in a browser: by buttons without script, and by keys with it."""

from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from common.clock import utcnow
from reader.channels.mutes import mute
from reader.models import Channel, Follow, Reader, Star, Unread
from reader.people.readers import add_reader
from tests.e2e.browser.screens import look_at
from tests.factories import FeedFactory
from tests.feeds.conftest import server
from tests.reader.posts import an_entry, put
from tests.servers.feed_server import FeedServer

__all__ = ["server"]

pytestmark = [pytest.mark.slow, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PASSWORD = "the sea is wide"
LONG = "The tide went out further than anybody remembered, and what lay there was older than the town. " * 14


def a_post(number: int, feed: Any, **jf2: Any) -> Any:
    shown = {
        "type": "entry",
        "published": (utcnow() - timedelta(hours=number)).isoformat(),
        "url": f"https://tide.example.org/{number}",
        "author": {"type": "card", "name": "Ada Lovelace", "url": "https://tide.example.org/"},
        **jf2,
    }
    return an_entry(jf2=shown, feed=feed, author="https://tide.example.org/", text="tide harbour")


@pytest.fixture
def ada(server: FeedServer) -> Reader:
    """She follows three feeds in two channels and has read some posts."""
    reader = add_reader(name="ada", now=utcnow())
    reader.user.set_password(PASSWORD)
    reader.user.save()
    home = reader.channels.get(uid="home")
    news: Channel = reader.channels.create(uid="news", name="News from the harbour", position=3)
    tide = FeedFactory(title="Tide tables", first_polled_at=utcnow(), newest_at=utcnow())
    gone = FeedFactory(title="Lighthouse notes", failures=3, failing_since=utcnow(), last_error="HTTP 500")
    mute(reader=reader, channel=None, url="https://spam.example.org/", now=utcnow())
    for channel, feed in ((home, tide), (news, tide), (news, gone)):
        Follow.objects.create(channel=channel, feed=feed)
    picture = BytesIO()
    Image.new("RGB", (640, 480), (31, 95, 139)).save(picture, "PNG")
    photo = server.serve("/boat.png", picture.getvalue())
    texts: list[dict[str, Any]] = [
        {
            "photo": [photo],
            "name": "What the storm left",
            "content": {"html": f"<p>{LONG}</p>", "text": LONG},
        },
        {
            "content": {
                "html": "<p>High water at <a href='https://example.org'>six</a>.</p>",
                "text": "High water",
            }
        },
        {
            "name": "How to read a chart",
            "content": {"html": "<h2>Depth</h2><p>Fathoms.</p>", "text": "Depth"},
        },
        {
            "in-reply-to": ["https://example.org/question"],
            "photo": [photo],
            "content": {"html": "<p>Yes!</p>", "text": "Yes!"},
        },
    ]
    for number in range(24):
        entry = a_post(number, tide, **texts[number % 4])
        put(home, entry, at=utcnow() - timedelta(hours=number), is_unread=number % 3 != 1)
    return reader


def sign_in(page: Any, site: str) -> None:
    page.goto(f"{site}/reader/")
    look_at(page, "reader-sign-in")
    page.get_by_label("Username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/reader/")


def unread() -> int:
    return Unread.objects.count()


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    """Pictures are kept there, and none of an earlier test's."""
    settings.DATA_DIR = tmp_path


def test_a_reader_reads(page: Any, site: str, ada: Reader) -> None:
    sign_in(page, site)
    look_at(page, "reader-all")
    expect(page.locator(".thumbnail").first).to_have_js_property("naturalWidth", 640)
    page.goto(f"{site}/reader/c/home/?unread")
    look_at(page, "reader-unread")
    before = unread()
    page.get_by_role("button", name="Mark read up to here").nth(2).click()
    page.get_by_text("3 posts marked as read.").wait_for()
    look_at(page, "reader-undo")
    assert unread() == before - 3
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("3 posts marked as read.").wait_for(state="detached")
    assert unread() == before
    page.goto(f"{site}/reader/")
    page.get_by_role("button", name="Mark read", exact=True).first.click()
    expect(page.locator(".entry").first).to_have_class("entry is-read")
    page.get_by_role("button", name="Star", exact=True).first.click()
    page.get_by_role("button", name="Take the star away").wait_for()
    page.get_by_role("link", name="Older posts").click()
    look_at(page, "reader-older")
    for name, address in (
        ("starred", "starred/"),
        ("search", "search/?q=tide"),
        ("feeds", "feeds/"),
        ("feed", f"feeds/{Follow.objects.latest('pk').feed_id}/"),
        ("follow", "follow/"),
        ("nothing", "c/news/"),
        ("notifications", "c/notifications/"),
        ("channels", "channels/"),
        ("settings", "c/news/settings/"),
        ("muted", "muted/"),
        ("apps-nothing", "app-passwords/"),
        ("post", f"post/{Star.objects.get().entry_id}/"),
    ):
        page.goto(f"{site}/reader/{address}")
        look_at(page, f"reader-{name}")
    assert unread() == before - 1


def test_an_app_gets_a_password(page: Any, site: str, ada: Reader) -> None:
    sign_in(page, site)
    page.goto(f"{site}/reader/app-passwords/")
    page.get_by_label("Which app needs a password?").fill("NetNewsWire on my phone")
    page.get_by_role("button", name="Make a password").click()
    page.get_by_role("heading", name="The password for NetNewsWire on my phone").wait_for()
    look_at(page, "reader-app-password")
    page.get_by_role("button", name="Revoke the password for NetNewsWire on my phone").click()
    page.get_by_text("There is none yet.").wait_for()


def test_the_list_of_channels_opens_on_a_phone(page: Any, site: str, ada: Reader) -> None:
    sign_in(page, site)
    drawer = page.locator(".drawer")
    if drawer.is_visible():
        drawer.click()
        look_at(page, "reader-channels")
    page.get_by_role("link", name="News from the harbour").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("News from the harbour")


def test_keys_move_open_mark_and_star(page: Any, site: str, ada: Reader) -> None:
    if page.is_plain:
        pytest.skip("keys are a script's")
    sign_in(page, site)
    before = unread()
    page.keyboard.press("j")
    expect(page.locator(".entry.is-here h2").first).to_contain_text("What the storm left")
    with page.expect_response("**/reader/mark/"):
        page.keyboard.press("m")
    assert unread() == before - 1
    with page.expect_response("**/star/"):
        page.keyboard.press("s")
    assert Star.objects.count() == 1
    page.keyboard.press("?")
    page.get_by_role("heading", name="Keys").wait_for()
    look_at(page, "reader-keys")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("j")
    with page.expect_response("**/reader/mark/"):
        page.keyboard.press("o")
    page.wait_for_url("**/reader/post/*/")
    assert unread() == before - 2
    page.goto(f"{site}/reader/")
    page.keyboard.press("u")
    page.wait_for_url("**/reader/?unread")
    page.keyboard.press("/")
    page.wait_for_url("**/reader/search/")


def test_what_is_scrolled_past_is_read_if_one_wants_that(page: Any, site: str, ada: Reader) -> None:
    if page.is_plain:
        pytest.skip("marks on scroll are a script's")
    sign_in(page, site)
    before = unread()
    page.get_by_label("Mark read what I scroll past").check()
    with page.expect_response("**/reader/mark/"):
        page.locator(".entry").nth(4).scroll_into_view_if_needed()
        page.mouse.wheel(0, 3000)
    assert unread() < before
