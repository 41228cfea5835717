"""Following by pages: find, preview, choose, unfollow, undo; and the state of feeds."""

from typing import Any

import pytest
from django.test import Client

from feeds.models import Feed
from reader.models import Channel, Follow, Reader
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog
from tests.reader.channels.test_follows import a_page
from tests.reader.posts import an_entry, put

pytestmark = pytest.mark.django_db


def test_a_page_leads_to_its_feed_which_is_followed_left_and_followed_again(
    browser: Client, home: Channel, blog: Blog
) -> None:
    blog.show("a")
    url = blog.server.url(blog.path)
    page = browser.post("/reader/follow/", {"url": a_page(blog), "channel": "home"}).content.decode()
    assert f'value="{url}"' in page
    assert "Post a" in page
    assert 'value="follow"' in page
    assert '<option value="home" selected>' in page
    assert not Feed.objects.exists()
    answer = browser.post("/reader/follow/", {"act": "follow", "url": url, "channel": "home"})
    assert answer.headers["Location"] == "/reader/c/home/"
    feed = Feed.objects.get()
    assert (feed.read_by, feed.for_letters) == (1, False)
    assert "Not fetched yet." in browser.get(f"/reader/feeds/{feed.pk}/").content.decode()
    left = browser.post(f"/reader/feeds/{feed.pk}/unfollow/", {"channel": "home"}).headers["Location"]
    assert not Follow.objects.exists()
    assert "You no longer follow" in browser.get(left).content.decode()
    browser.post("/reader/follow/", {"act": "follow", "url": feed.url, "channel": "home"})
    assert Follow.objects.get().channel == home


def test_a_feed_goes_into_a_channel_that_is_made_for_it(browser: Client, ada: Reader) -> None:
    feed = FeedFactory()
    given = {"act": "follow", "url": feed.url, "channel": "home", "new_channel": "News"}
    browser.post("/reader/follow/", given)
    assert Follow.objects.get().channel.name == "News"


def test_a_limit_is_named_in_the_readers_language_alone(browser: Client, ada: Reader, settings: Any) -> None:
    settings.READER_MAX_FEEDS = 1
    for _ in range(2):
        given = {"act": "follow", "url": FeedFactory().url, "channel": "home"}
        answer = browser.post("/reader/follow/", given, headers={"accept-language": "de"})
    page = answer.content.decode()
    assert "Sie folgen 1 Feed; mehr sind nicht möglich. Entfernen Sie ihn zuerst." in page
    assert "ließ sich nicht hinzufügen" not in page
    assert 'lang="en"' not in page


@pytest.mark.parametrize(
    "url", ["", "mailto:a@example.org", "http://169.254.169.254/latest", "file:///etc/passwd"]
)
def test_what_leads_nowhere_is_said_and_nothing_is_followed(browser: Client, ada: Reader, url: str) -> None:
    for act in ("", "follow"):
        answer = browser.post("/reader/follow/", {"url": url, "act": act, "channel": "home"})
        assert 'role="alert"' in answer.content.decode(), act
    assert not Feed.objects.exists()


def test_nobody_looks_at_addresses_without_end(browser: Client, ada: Reader) -> None:
    answers = [browser.post("/reader/follow/", {"url": "mailto:x"}).status_code for _ in range(21)]
    assert answers == [400] * 20 + [429]


@pytest.mark.parametrize(
    ("about", "says"),
    [
        ({"first_polled_at": NOW, "newest_at": NOW}, "Its newest post is from"),
        ({"first_polled_at": NOW}, "None of its posts has a date"),
        ({"failures": 3, "failing_since": NOW, "last_error": "HTTP 500"}, "The last 3 attempts"),
        ({"status": "stopped"}, "This feed is stopped"),
    ],
)
def test_why_there_are_no_posts(browser: Client, home: Channel, about: dict[str, Any], says: str) -> None:
    feed = FeedFactory(**about)
    Follow.objects.create(channel=home, feed=feed)
    page = browser.get(f"/reader/feeds/{feed.pk}/").content.decode()
    assert says in page
    assert about.get("last_error", "") in page


def test_a_feed_is_called_as_its_reader_wants(browser: Client, home: Channel, bob: Reader) -> None:
    feed = FeedFactory(title="Tide tables of the northern sea")
    follow = Follow.objects.create(channel=home, feed=feed)
    Follow.objects.create(channel=bob.channels.get(uid="home"), feed=feed)
    put(home, an_entry(feed=feed))
    browser.post(f"/reader/feeds/{feed.pk}/", {"channel": "home", "name": " Tides "})
    for page in ("/reader/feeds/", "/reader/", f"/reader/feeds/{feed.pk}/"):
        assert ">Tides<" in browser.get(page).content.decode(), page
    assert Follow.objects.exclude(pk=follow.pk).get().name == ""
    browser.post(f"/reader/feeds/{feed.pk}/", {"channel": "home", "name": ""})
    assert ">Tides<" not in browser.get("/reader/feeds/").content.decode()
    assert browser.post(f"/reader/feeds/{feed.pk}/", {"channel": "none", "name": "x"}).status_code == 404
