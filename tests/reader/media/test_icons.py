"""Pictures of feeds: found once by a worker, served from our own URLs."""

import json
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client
from PIL import Image

from feeds.models import Feed, FeedDocument
from reader.channels.follows import follow_feed, unfollow
from reader.media.icons import feed_icon, look_for_icons
from reader.media.pictures import MOST_PIXELS, declared_size, picture_type
from reader.models import Channel, FeedIcon, Reader
from tests.factories import NOW, FeedDocumentFactory, FeedFactory
from tests.reader.client import MicrosubClient
from tests.reader.greader.client import GoogleApp
from tests.reader.posts import an_entry, put
from tests.servers.feed_server import FeedServer

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback_allowed")]


def a_picture(kind: str, **options: Any) -> bytes:
    file = BytesIO()
    Image.new("RGBA", (64, 64), "teal").save(file, kind, **options)
    return file.getvalue()


PNG, ICO = a_picture("PNG"), a_picture("ICO", sizes=[(16, 16), (48, 48)])


@pytest.fixture(autouse=True)
def folder(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path
    cache.clear()


@pytest.fixture
def feed(server: FeedServer, home: Channel) -> Feed:
    """Return a feed that Ada follows, of a site with an icon."""
    server.serve("/icon.png", PNG)
    page = server.serve("/", '<link rel="icon" href="/icon.png" sizes="64x64">')
    made: Feed = FeedFactory(url=server.serve("/feed.xml", ""), site_url=page)
    follow_feed(channel=home, feed=made, clock=lambda: NOW)
    return made


def look(at: Any = NOW) -> int:
    return look_for_icons(clock=lambda: at)


def icon(feed: Feed) -> str:
    return FeedIcon.objects.get(feed=feed).url


def test_the_sites_icon_is_found_once_and_looked_for_again_after_a_month(
    server: FeedServer, feed: Feed
) -> None:
    assert look() == 1
    assert icon(feed).endswith("/icon.png")
    asked = len(server.requests)
    assert look(NOW + timedelta(days=29)) == 0
    assert len(server.requests) == asked
    assert look(NOW + timedelta(days=31)) == 1


def test_the_feeds_own_picture_comes_first_if_it_is_one(server: FeedServer, feed: Feed) -> None:
    own = server.serve("/own.ico", ICO)
    FeedDocumentFactory(feed=feed, channel={"image": own})
    look()
    assert icon(feed) == own
    FeedDocument.objects.update(channel={"image": server.serve("/page", "<html>")})
    look(NOW + timedelta(days=31))
    assert icon(feed).endswith("/icon.png")


def test_without_a_picture_it_is_tried_again_after_a_week(server: FeedServer, feed: Feed) -> None:
    server.serve("/", "<p>No icons.</p>")
    assert look() == 0
    server.serve("/favicon.ico", ICO)
    cache.clear()
    assert look(NOW + timedelta(days=6)) == 0
    assert look(NOW + timedelta(days=8)) == 1
    assert icon(feed).endswith("/favicon.ico")


def test_nothing_is_asked_for_a_feed_that_nobody_follows(
    server: FeedServer, feed: Feed, home: Channel
) -> None:
    unfollow(channel=home, feed=feed, now=NOW)
    assert look() == 0
    assert server.requests == []


def test_a_look_that_a_kill_ended_is_repeated(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def killed(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("reader.media.icons._looked_up", killed)
        with pytest.raises(Killed):
            look()
    assert look() == 0, "another worker may be at it"
    assert look(NOW + timedelta(minutes=16)) == 1


def test_every_protocol_and_page_shows_it_by_our_address(
    ada: Reader, home: Channel, feed: Feed, web: Callable[[Reader], Client]
) -> None:
    look()
    entry = an_entry(feed=feed, jf2={"type": "entry", "name": "Low tide"})
    put(home, entry)
    ours = feed_icon(Feed.objects.get(pk=feed.pk))
    api, app, browser = MicrosubClient(ada), GoogleApp(ada), web(ada)
    assert ours.startswith("/reader/media/")
    assert api.ask("follow", channel="home")["items"][0]["photo"].endswith(ours)
    (item,) = api.ask("timeline", channel="home")["items"]
    assert item["_feed"]["photo"].endswith(ours)
    listed = json.loads(app.get("subscription/list", output="json")[1])
    assert listed["subscriptions"][0]["iconUrl"].endswith(ours)
    for page in ("/reader/c/home/", "/reader/feeds/", f"/reader/post/{entry.pk}/"):
        html = browser.get(page).content.decode()
        assert ours in html, page
        assert icon(feed) not in html


def test_icons_of_windows_are_shown_and_their_true_size_counts() -> None:
    assert picture_type(ICO) == "image/vnd.microsoft.icon"
    assert declared_size(ICO) == (48, 48)
    at = ICO.index(b"IHDR") + 4
    huge = ICO[:at] + (60_000).to_bytes(4) * 2 + ICO[at + 8 :]
    width, height = declared_size(huge)
    assert width * height > MOST_PIXELS


def test_an_avif_is_bounded_by_the_size_that_it_declares() -> None:
    head = b"\0\0\0\x20ftypavif" + bytes(20)
    huge = head + b"\0\0\0\x14ispe" + bytes(4) + (60_000).to_bytes(4) * 2
    assert declared_size(huge) == (60_000, 60_000)
