"""Reading in a browser: by buttons without scripts, and by keys with them."""

import re
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import expect

from common.clock import utcnow
from reader.channels.filters import mute
from reader.models import Channel, Entry, Follow, Reader, Star, Unread
from reader.people.readers import add_reader
from tests.e2e.browser.screens import look_at, sign_in
from tests.factories import FeedFactory
from tests.feeds.conftest import server
from tests.reader.channels.test_opml import LIST
from tests.reader.posts import an_entry, put
from tests.servers.feed_server import FeedServer

__all__ = ["server"]

NEEDS_APP = "reader"
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
    """Return Ada, who follows three feeds in two channels and has read some posts."""
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
        audio = {"audio": ["https://tide.example.org/episode.mp3"]} if number == 4 else {}
        entry = a_post(number, tide, **texts[number % 4], **audio)
        put(home, entry, at=utcnow() - timedelta(hours=number), is_unread=number % 3 != 1)
    return reader


def begin(page: Any, site: str, reader: Reader) -> None:
    sign_in(page, site, reader.user)
    page.goto(f"{site}/reader/")


def confirm(page: Any) -> None:
    """A new way to sign in needs the password again."""
    page.get_by_role("heading", name="Confirm that it’s you").wait_for()
    look_at(page, "confirm")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Continue").click()


def unread() -> int:
    return Unread.objects.count()


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    """Keep pictures in a folder of this test."""
    settings.DATA_DIR = tmp_path


def test_a_reader_reads(page: Any, site: str, ada: Reader) -> None:
    page.goto(f"{site}/reader/")
    look_at(page, "reader-sign-in")
    page.get_by_label("Email or username").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url("**/reader/")
    look_at(page, "reader-all")
    expect(page.locator(".thumbnail").first).to_have_js_property("naturalWidth", 640)
    page.goto(f"{site}/reader/c/home/?unread")
    look_at(page, "reader-unread")
    before = unread()
    page.locator(".entry").nth(2).get_by_label("More").click()
    look_at(page, "reader-more")
    page.locator(".entry").nth(2).get_by_role("button", name="Mark read up to here").click()
    page.get_by_text("3 posts marked as read.").wait_for()
    look_at(page, "reader-undo")
    assert unread() == before - 3
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("3 posts marked as read.").wait_for(state="detached")
    assert unread() == before
    page.get_by_role("button", name="Mark read", exact=True).first.click()
    page.get_by_text("1 post marked as read.").wait_for()
    look_at(page, "reader-undo-one")
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("1 post marked as read.").wait_for(state="detached")
    page.goto(f"{site}/reader/c/home/?unread")
    assert unread() == before
    page.goto(f"{site}/reader/")
    page.get_by_role("button", name="Mark read", exact=True).first.click()
    expect(page.locator(".entry").first).to_have_class("entry is-read")
    page.get_by_role("button", name="Star", exact=True).first.click()
    page.get_by_role("button", name="Remove star").wait_for()
    page.get_by_role("link", name="Older posts").click()
    look_at(page, "reader-older")
    for name, address in (
        ("starred", "starred/"),
        ("search", "search/?q=tide"),
        ("feeds", "feeds/"),
        ("feed", f"feeds/{Follow.objects.latest('pk').feed_id}/"),
        ("feed-posts", f"feeds/{Follow.objects.earliest('pk').feed_id}/"),
        ("audio", f"post/{Entry.objects.get(jf2__has_key='audio').pk}/"),
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


@pytest.mark.parametrize("streams", [2, 0])
def test_a_page_says_what_came_since(page: Any, site: str, ada: Reader, settings: Any, streams: int) -> None:
    if page.is_plain:
        pytest.skip("without scripts a page is as it was when it was made")
    settings.READER_STREAMS = streams
    home = ada.channels.get(uid="home")
    page.clock.install()
    sign_in(page, site, ada.user)
    page.goto(f"{site}/reader/c/home/")
    news = page.locator(".news .button")
    expect(news).to_be_hidden()
    # It opens the stream after two seconds; if refused, it polls every minute.
    page.clock.fast_forward(3_000)
    page.wait_for_timeout(500)
    for number in range(2):
        put(home, a_post(100 + number, None, name="Slack water"), at=utcnow() + timedelta(seconds=number))
    page.wait_for_timeout(1_500)
    page.clock.fast_forward(200 if streams else 61_000)
    expect(news).to_have_text("2 new posts")
    look_at(page, "reader-news")
    before = page.locator(".channels [data-count=home]").first.inner_text()
    assert before == str(unread())
    news.click()
    expect(page.locator(".entry").first).to_contain_text("Slack water")
    expect(news).to_be_hidden()


def test_an_app_gets_a_password(page: Any, site: str, ada: Reader) -> None:
    sign_in(page, site, ada.user)
    page.goto(f"{site}/reader/app-passwords/")
    page.get_by_label("Name of the app").fill("NetNewsWire on my phone")
    page.get_by_role("button", name="Create app password").click()
    confirm(page)
    page.get_by_role("heading", name="Password for NetNewsWire on my phone").wait_for()
    look_at(page, "reader-app-password")
    page.get_by_role("button", name="Revoke the password for NetNewsWire on my phone").click()
    page.get_by_text("No app passwords yet.").wait_for()


def test_the_list_of_channels_opens_on_a_phone(page: Any, site: str, ada: Reader) -> None:
    begin(page, site, ada)
    drawer = page.locator(".drawer")
    if drawer.is_visible():
        drawer.click()
        look_at(page, "reader-channels")
    page.get_by_role("link", name="News from the harbour").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("News from the harbour")


def test_the_first_post_begins_in_the_first_third_of_the_screen(page: Any, site: str, ada: Reader) -> None:
    sign_in(page, site, ada.user)
    feed = Follow.objects.earliest("pk").feed_id
    for address in ("", "c/home/", f"feeds/{feed}/?channel=home", "deck/"):
        page.goto(f"{site}/reader/{address}")
        top = page.locator(".entry").first.bounding_box()["y"]
        assert top < page.viewport_size["height"] / 3, (address, top)


def test_a_post_without_a_title_opens_by_its_time(page: Any, site: str, ada: Reader) -> None:
    begin(page, site, ada)
    untitled = page.locator(".entry").filter(has=page.get_by_text("High water at")).first
    untitled.locator("time").click()
    page.wait_for_url("**/reader/post/*/")
    expect(page.locator(".entry.whole")).to_contain_text("High water at")


def test_a_channel_opens_to_its_feeds_and_the_account_to_its_ways_out(
    page: Any, site: str, ada: Reader
) -> None:
    begin(page, site, ada)
    channels = page.locator(".channels")
    if page.locator(".drawer").is_visible():
        page.locator(".drawer").click()
    feed = channels.get_by_role("link", name="Lighthouse notes")
    expect(feed).to_be_visible()
    channels.get_by_text("Feeds in News from the harbour").locator("..").click()
    expect(feed).to_be_hidden()
    channels.get_by_text("ada", exact=True).click()
    expect(channels.get_by_role("button", name="Sign out")).to_be_visible()
    look_at(page, "reader-account-menu")


def test_keys_move_open_mark_and_star(page: Any, site: str, ada: Reader) -> None:
    if page.is_plain:
        pytest.skip("keys are a script's")
    begin(page, site, ada)
    before = unread()
    page.keyboard.press("j")
    expect(page.locator(".entry.is-here h2").first).to_contain_text("What the storm left")
    with page.expect_response("**/reader/mark/"):
        page.keyboard.press("m")
    assert unread() == before - 1
    with page.expect_response("**/reader/undo/"):
        page.get_by_role("button", name="Undo").click()
    expect(page.locator(".entry").first).not_to_have_class(re.compile("is-read"))
    assert unread() == before
    with page.expect_response("**/reader/mark/"):
        page.keyboard.press("m")
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
    # The pages that are folded.
    for key, address in (("f", "feeds/"), ("c", "channels/"), ("d", "deck/")):
        page.goto(f"{site}/reader/")
        expect(page.locator(".channels > details").first).not_to_have_attribute("open", "")
        page.keyboard.press("g")
        page.keyboard.press(key)
        page.wait_for_url(f"{site}/reader/{address}")


def test_what_is_scrolled_past_is_read_if_one_wants_that(page: Any, site: str, ada: Reader) -> None:
    if page.is_plain:
        pytest.skip("marks on scroll are a script's")
    begin(page, site, ada)
    before = unread()
    page.locator(".heading").get_by_text("More").click()
    page.get_by_label("Mark posts as read when I scroll past them").check()
    with page.expect_response("**/reader/mark/"):
        page.locator(".entry").nth(4).scroll_into_view_if_needed()
        page.mouse.wheel(0, 3000)
    assert unread() < before


def test_channels_are_shown_as_cards_pictures_and_columns(page: Any, site: str, ada: Reader) -> None:
    sign_in(page, site, ada.user)
    for layout in ("cards", "gallery"):
        page.goto(f"{site}/reader/c/home/settings/")
        page.get_by_label("Layout").select_option(layout)
        page.get_by_role("button", name="Save").click()
        page.wait_for_url("**/reader/c/home/")
        expect(page.locator(".tile img").first).to_have_js_property("naturalWidth", 640)
        look_at(page, f"reader-{layout}")
    page.goto(f"{site}/reader/deck/")
    look_at(page, "reader-deck")
    before = unread()
    page.get_by_role("button", name="Mark all as read: Home").click()
    page.get_by_text("posts marked as read.").wait_for()
    assert unread() < before
    page.get_by_role("button", name="Undo").click()
    page.get_by_text("posts marked as read.").wait_for(state="detached")
    assert unread() == before
    page.get_by_text("Choose channels").first.click()
    for box in page.get_by_role("checkbox").all():
        box.uncheck()
    page.get_by_role("button", name="Show channels").click()
    page.get_by_text("Choose channels above").wait_for()
    look_at(page, "reader-deck-empty")


def test_a_list_comes_in_and_filters_are_looked_at_first(page: Any, site: str, ada: Reader) -> None:
    sign_in(page, site, ada.user)
    page.goto(f"{site}/reader/feeds/opml/")
    look_at(page, "reader-opml")
    file = {"name": "feeds.opml", "mimeType": "text/x-opml", "buffer": LIST.encode()}
    page.get_by_label("OPML, JSON or zip file").set_input_files(file)
    page.get_by_role("button", name="Import feeds").click()
    page.get_by_text("Your list was imported.").wait_for()
    look_at(page, "reader-opml-told")
    page.goto(f"{site}/reader/c/home/filters/")
    look_at(page, "reader-filters")
    page.get_by_label("Liked posts").check()
    page.get_by_label("Hide posts that match any of these").fill("storm\n/chart|map/i")
    page.get_by_role("button", name="Preview filters").click()
    page.get_by_text("Nothing is saved yet.").wait_for()
    look_at(page, "reader-filters-look")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/reader/c/home/")
    expect(page.get_by_text("What the storm left")).to_have_count(0)
    look_at(page, "reader-filtered")


def test_pages_turn_round_for_those_who_write_from_right_to_left(page: Any, site: str, ada: Reader) -> None:
    if page.is_plain:
        pytest.skip("the page is turned round by a script")
    Channel.objects.filter(uid="home").update(layout="cards")
    sign_in(page, site, ada.user)
    for address in ("", "c/home/", "deck/", "feeds/", "c/home/filters/", "c/home/settings/"):
        page.goto(f"{site}/reader/{address}")
        page.evaluate("document.documentElement.dir = 'rtl'")
        look_at(page, f"reader-rtl-{address.replace('/', '-')}")
