"""Finding feeds and forecasting readings from the command line."""

from collections.abc import Iterator
from typing import Any

import pytest

from feeds.models import Feed, Item
from tests.console import json_of, printed, refused
from tests.factories import NOW, FeedFactory
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db
HTML = {"Content-Type": "text/html"}
FEED = '<link rel="alternate" type="application/rss+xml" title="{0}" href="/{0}.xml">'


def document(name: str) -> bytes:
    return rss([{"guid": name, "title": f"Post of {name}", "published": NOW}], title=name.title())


@pytest.fixture
def server(loopback_allowed: None) -> Iterator[FeedServer]:
    with FeedServer() as running:
        for name in ("news", "all", "comments"):
            running.serve(f"/{name}.xml", document(name))
        running.serve("/one", f"<html>{FEED.format('news')}{FEED.format('comments')}", headers=HTML)
        running.serve("/two", f"<html>{FEED.format('news')}{FEED.format('all')}", headers=HTML)
        running.serve("/none", "<html>Nothing", headers=HTML)
        yield running


def test_find_feeds_lists_what_there_is_the_best_first(server: FeedServer) -> None:
    watched = FeedFactory(url=server.url("/comments.xml"))
    first, second = json_of("find_feeds", server.url("/one"))
    assert first == {
        "url": server.url("/news.xml"),
        "title": "News",
        "format": "RSS 2.0",
        "posts": 1,
        "newest": "2026-03-02T12:00:00+00:00",
        "comments": False,
        "watched_by": None,
        "warnings": [],
    }
    assert (second["comments"], second["watched_by"]) == (True, watched.pk)
    assert Feed.objects.count() == 1
    assert "News" in printed("find_feeds", server.url("/one"))


def test_find_feeds_says_when_there_are_none(server: FeedServer) -> None:
    assert refused("find_feeds", server.url("/none")).startswith("This page names no feed")
    assert refused("find_feeds", "ftp://x.test/").startswith("URL: Give an address")


def test_add_feed_takes_a_page_with_one_feed_of_posts(server: FeedServer) -> None:
    added = json_of("add_feed", server.url("/one"))
    assert added == {
        "id": Feed.objects.get().pk,
        "url": server.url("/news.xml"),
        "title": "News",
        "items_excluded": 1,
    }


def test_add_feed_asks_for_one_of_several(server: FeedServer) -> None:
    said = refused("add_feed", server.url("/two"))
    assert said.startswith("The page has several feeds. Give the address of one of them: ")
    assert server.url("/news.xml") in said
    assert server.url("/all.xml") in said
    assert not Feed.objects.exists()


def test_add_feed_adds_nothing_for_a_page_without_feeds(server: FeedServer) -> None:
    assert refused("add_feed", server.url("/none")).startswith("This page names no feed")
    assert not Feed.objects.exists()


def test_add_feed_takes_an_address_without_its_scheme(server: FeedServer) -> None:
    added = json_of("add_feed", f"127.0.0.1:{server.port}/news.xml")
    assert added["url"] == server.url("/news.xml")


def test_add_feed_keeps_the_address_of_a_feed_as_it_was_given(server: FeedServer) -> None:
    server.redirect("/moved.xml", server.url("/news.xml"), 301)
    assert json_of("add_feed", server.url("/moved.xml"))["url"] == server.url("/moved.xml")


def test_add_feed_gives_the_password_of_a_page_to_no_other_host(server: FeedServer) -> None:
    with FeedServer() as other:
        feed = other.serve("/feed.xml", document("elsewhere"))
        server.serve("/page", f'<html><link rel="feed" href="{feed}">', headers=HTML)
        json_of("add_feed", server.url("/page").replace("http://", "http://ada:secret@"))
        assert not [request for request in other.requests if "authorization" in request.headers]
    assert not Feed.objects.get().credentials


def test_add_feed_takes_the_password_of_a_page_to_its_own_feed(server: FeedServer) -> None:
    json_of("add_feed", server.url("/one").replace("http://", "http://ada:secret@"))
    assert Feed.objects.get().url == server.url("/news.xml")
    assert Feed.objects.get().credentials.open() == {"user": "ada", "password": "secret"}


def test_add_feed_keeps_what_cannot_be_reached_as_it_is_tried_again(server: FeedServer) -> None:
    server.serve("/busy.xml", "busy", status=503)
    assert "could not be read yet" in refused("add_feed", server.url("/busy.xml"))
    assert Feed.objects.get().url == server.url("/busy.xml")


def test_preview_feed_says_what_the_next_reading_would_do(server: FeedServer) -> None:
    feed = json_of("add_feed", server.url("/news.xml"))["id"]
    posts: list[dict[str, Any]] = [
        {"guid": "new", "title": "New"},
        {"guid": "news", "title": "Post of news", "published": NOW},
    ]
    server.serve("/news.xml", rss(posts))
    done = json_of("preview_feed", str(feed))
    assert (done["id"], done["outcome"], done["http_status"]) == (feed, "read", 200)
    assert done["counts"] == {"new": 1, "unchanged": 1}
    new, old = done["items"]
    assert list(new) == ["id", "title", "published", "event", "settles_at", "sent", "why"]
    assert (new["id"], new["title"], new["event"]) == (None, "New", "new")
    assert old["sent"] == "Not sent: it was already in the feed when the feed was added."
    assert Item.objects.count() == 1
    shown = printed("preview_feed", str(feed))
    assert "The feed has changed since the last reading. Of its posts: 1 new." in shown


def test_preview_feed_says_what_was_wrong(server: FeedServer) -> None:
    feed = FeedFactory(url=server.url("/gone.xml"))
    assert refused("preview_feed", str(feed.pk)).startswith(f"Feed {feed.pk} could not be read: ")
    assert refused("preview_feed", "99").startswith("There is no feed 99.")
