"""Following by pages: find, preview, choose, unfollow, undo; and the state of feeds.

The page of one feed: its posts, its marks, reading it, moving it, another URL.
The pages of OPML: a file is imported with a report, and one is exported.
"""

import re
from collections.abc import Callable
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from django.test import Client

from common.clock import utcnow
from feeds.models import Feed
from feeds.parsing.opml import parse_opml
from reader.channels.follows import follow_feed, unfollow
from reader.channels.opml import keep_list
from reader.entries.place import place_due
from reader.models import Channel, Follow, FollowList, Reader, TimelineEntry, Unread
from reader.pages import feeds
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import Blog, post
from tests.reader.channels.test_follows import a_page
from tests.reader.channels.test_opml import LIST
from tests.reader.posts import an_entry, minutes, put
from tests.servers.feed_server import FeedServer

PAGE = "/reader/feeds/opml/"
GERMAN = {"accept-language": "de"}
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


@pytest.fixture
def feed(home: Channel) -> Feed:
    feed: Feed = FeedFactory(title="Tides", first_polled_at=NOW, last_polled_at=NOW)
    Follow.objects.create(channel=home, feed=feed)
    return feed


def page_of(feed: Feed) -> str:
    return f"/reader/feeds/{feed.pk}/"


def shown(browser: Client, address: str) -> list[int]:
    return [int(pk) for pk in re.findall(r'id="post-(\d+)"', browser.get(address).content.decode())]


def test_it_has_the_posts_of_one_feed_and_marks_these_alone_which_is_undone(
    browser: Client, home: Channel, feed: Feed
) -> None:
    mine = [put(home, an_entry(feed=feed), at=minutes(number)).pk for number in range(25)]
    other = put(home, an_entry(feed=FeedFactory()), at=minutes(3)).pk
    first = shown(browser, page_of(feed))
    assert first == mine[:4:-1]
    (older,) = re.findall(r'rel="next" href="\?(after=[^"]+)"', browser.get(page_of(feed)).content.decode())
    assert shown(browser, f"{page_of(feed)}?{older}") == mine[4::-1]
    page = browser.get(page_of(feed)).content.decode()
    assert f'<input type="hidden" name="feed" value="{feed.pk}">' in page
    asked = {"act": "all", "channel": "home", "feed": feed.pk, "top": first[0], "back": page_of(feed)}
    back = browser.post("/reader/mark/", asked).headers["Location"]
    assert list(Unread.objects.values_list("place", flat=True)) == [other]
    told = browser.get(back).content.decode()
    assert "25 posts marked as read." in told
    assert shown(browser, f"{page_of(feed)}?unread") == []
    (name,) = re.findall(r'name="name" value="([0-9a-f]{16})"', told)
    browser.post("/reader/undo/", {"name": name})
    assert Unread.objects.count() == 26


@pytest.mark.parametrize("act", ["here", "older"])
def test_no_mark_on_it_touches_another_feed(browser: Client, home: Channel, feed: Feed, act: str) -> None:
    mine = put(home, an_entry(feed=feed))
    other = put(home, an_entry(feed=FeedFactory()))
    asked = {"act": act, "channel": "home", "feed": feed.pk, "top": other.pk, "place": mine.pk, "days": 1}
    assert browser.post("/reader/mark/", asked).status_code == 302
    assert list(Unread.objects.values_list("place", flat=True)) == [other.pk]


def test_new_posts_of_other_feeds_are_none_of_its_news(browser: Client, home: Channel, feed: Feed) -> None:
    put(home, an_entry(feed=FeedFactory()))
    asked: dict[str, str | int] = {"channel": "home", "since": "0-0", "feed": feed.pk}
    assert browser.get("/reader/news/", asked).json()["new"] == 0
    put(home, an_entry(feed=feed))
    assert browser.get("/reader/news/", asked).json()["new"] == 1
    assert f'data-feed="{feed.pk}"' in browser.get(page_of(feed)).content.decode()


def test_it_is_reached_from_its_posts_also_once_it_is_followed_no_longer(
    browser: Client, home: Channel, feed: Feed
) -> None:
    place = put(home, an_entry(feed=feed))
    link = f'href="{page_of(feed)}'
    for address in ("/reader/", "/reader/feeds/", f"/reader/post/{place.entry_id}/"):
        assert link in browser.get(address).content.decode(), address
    unfollow(channel=home, feed=feed, now=NOW)
    page = browser.get(page_of(feed)).content.decode()
    assert shown(browser, page_of(feed)) == [place.pk]
    assert "You no longer follow this feed." in page
    assert "Read now" not in page
    assert browser.post(page_of(feed), {"channel": "home", "act": "read"}).status_code == 404


def test_a_feed_in_two_channels_has_the_posts_of_each(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel]
) -> None:
    other, entry = channel("other"), an_entry(feed=feed)
    Follow.objects.create(channel=other, feed=feed)
    here, there = put(home, entry), put(other, entry)
    assert shown(browser, page_of(feed)) == [here.pk]
    assert shown(browser, f"{page_of(feed)}?channel=other") == [there.pk]
    assert (
        'href="?channel=other&amp;unread"' in browser.get(f"{page_of(feed)}?channel=other").content.decode()
    )


def test_it_is_read_now_but_not_without_end(browser: Client, feed: Feed) -> None:
    Feed.objects.update(next_poll_at=utcnow() + timedelta(hours=5))
    answer = browser.post(page_of(feed), {"channel": "home", "act": "read"})
    assert "is being fetched" in browser.get(answer.headers["Location"]).content.decode()
    assert Feed.objects.get().next_poll_at <= utcnow()
    answers = [browser.post(page_of(feed), {"channel": "home", "act": "read"}).status_code for _ in range(20)]
    assert (answers[0], answers[-1]) == (302, 429)


def test_a_feed_that_was_read_a_moment_ago_is_not_read_again(browser: Client, feed: Feed) -> None:
    later = utcnow() + timedelta(hours=5)
    Feed.objects.update(next_poll_at=later, last_polled_at=utcnow() - timedelta(seconds=30))
    assert browser.post(page_of(feed), {"channel": "home", "act": "read"}).status_code == 302
    assert Feed.objects.get().next_poll_at == later


def test_it_moves_to_another_channel_with_its_posts(
    browser: Client, home: Channel, feed: Feed, channel: Callable[[str], Channel], bob: Reader
) -> None:
    place, other = put(home, an_entry(feed=feed)), channel("other")
    assert browser.post(page_of(feed), {"channel": "home", "act": "move", "to": "other"}).status_code == 302
    assert (Follow.objects.get().channel, TimelineEntry.objects.get(pk=place.pk).channel) == (other, other)
    for to, status in (("nowhere", 404), ("notifications", 400)):
        asked = {"channel": "other", "act": "move", "to": to}
        assert browser.post(page_of(feed), asked).status_code == status
    assert Follow.objects.get().channel == other


class TestAnotherAddress:
    @pytest.fixture
    def followed(self, blog: Blog, home: Channel) -> Blog:
        blog.show("a", "b")
        follow_feed(channel=home, feed=blog.watch(for_letters=False))
        blog.read(1)
        place_due()
        assert Unread.objects.count() == 2
        Unread.objects.all().delete()
        return blog

    def change(self, browser: Client, blog: Blog, url: str) -> int:
        asked = {"channel": "home", "act": "address", "url": url}
        status: int = browser.post(page_of(blog.feed), asked).status_code
        return status

    @pytest.mark.parametrize("used", ["by nobody else", "by another reader", "for letters"])
    def test_what_was_read_stays_read(
        self, browser: Client, followed: Blog, server: FeedServer, bob: Reader, used: str
    ) -> None:
        if used == "by another reader":
            follow_feed(channel=bob.channels.get(uid="home"), feed=followed.feed)
        if used == "for letters":
            Feed.objects.update(for_letters=True)
        old = followed.feed.url
        moved = Blog(server, "/moved.xml")
        moved.show("c", "a", "b")
        assert self.change(browser, followed, server.url("/moved.xml")) == 302
        moved.feed = Follow.objects.get(channel__reader__slug="ada").feed
        assert moved.feed.url == server.url("/moved.xml")
        assert Feed.objects.filter(url=old).exists() == (used != "by nobody else")
        moved.read(60)
        place_due()
        page = browser.get(page_of(moved.feed)).content.decode()
        assert {*re.findall(r">Post (\w)<", page)} == {"a", "b", "c"}
        unread = Unread.objects.filter(reader__slug="ada").select_related("place__entry")
        assert [row.place.entry.jf2["name"] for row in unread if row.place.entry.jf2] == ["Post c"]

    def test_a_feed_that_was_gone_is_read_again(
        self, browser: Client, followed: Blog, server: FeedServer
    ) -> None:
        Feed.objects.update(status=Feed.Status.STOPPED)
        Blog(server, "/moved.xml").show("a")
        assert self.change(browser, followed, server.url("/moved.xml")) == 302
        assert Feed.objects.get().status == Feed.Status.ACTIVE

    def test_a_feed_that_is_watched_there_is_followed_instead(
        self, browser: Client, followed: Blog, server: FeedServer
    ) -> None:
        there = Blog(server, "/there.xml")
        there.show(*[post(name, guid=f"new-{name}") for name in ("a", "b")])
        there.watch()
        there.read(2)
        assert self.change(browser, followed, there.feed.url) == 302
        assert Follow.objects.get().feed == there.feed
        assert len(shown(browser, page_of(there.feed))) == 2
        assert not Unread.objects.exists()

    @pytest.mark.parametrize("url", ["", "mailto:a@example.org", "http://169.254.169.254/latest"])
    def test_what_is_no_feed_changes_nothing(self, browser: Client, followed: Blog, url: str) -> None:
        assert self.change(browser, followed, url) == 400
        assert Follow.objects.get().feed == followed.feed
        assert Feed.objects.get().url == followed.feed.url

    def test_the_same_address_changes_nothing(self, browser: Client, followed: Blog) -> None:
        assert self.change(browser, followed, followed.feed.url) == 302
        assert Follow.objects.get().feed == followed.feed


def test_feeds_are_listed_with_numbers_as_numbers(browser: Client, home: Channel) -> None:
    for title in ("o10", "o2", "O1", "p"):
        Follow.objects.create(channel=home, feed=FeedFactory(title=title))
    page = browser.get("/reader/feeds/").content.decode().partition("<main")[2]
    assert re.findall(r">(o\d+|p)</a>", page, re.IGNORECASE) == ["O1", "o2", "o10", "p"]


def a_file(body: str = LIST) -> BytesIO:
    file = BytesIO(body.encode())
    file.name = "feeds.opml"
    return file


def test_a_file_is_taken_over_and_each_line_is_told(
    browser: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "WAITED_FOR", None)
    answer = browser.post(PAGE, {"file": a_file(), "channel": "home"})
    assert (answer.status_code, answer.headers["Location"]) == (302, PAGE)
    assert Follow.objects.count() == 5
    answer = browser.get(PAGE)
    page = answer.content.decode()
    assert "Your list was imported." in page
    assert "It is a link to a web page, not a feed." in page
    assert "The Tide" in page
    assert "hidden-word" not in page
    assert "Refresh" not in answer.headers


def test_reasons_are_in_the_readers_language_or_marked_as_english(
    browser: Client, ada: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "WAITED_FOR", None)
    browser.post(PAGE, {"file": a_file(), "channel": "home"}, headers=GERMAN)
    page = browser.get(PAGE, headers=GERMAN).content.decode()
    assert '<span lang="en" dir="auto">It is a link to a web page, not a feed.</span>' in page
    assert '<span dir="auto">Die Adresse enthält einen Benutzernamen oder ein Passwort.' in page


def test_a_list_that_goes_on_says_how_far_it_is_and_can_be_stopped(browser: Client, ada: Reader) -> None:
    keep_list(reader=ada, body=LIST.encode(), now=NOW)
    answer = browser.get(PAGE)
    assert "2 of 9 lines are done." in answer.content.decode()
    assert answer.headers["Refresh"] == "3"
    browser.post(PAGE, {"act": "stop"})
    assert "Your list was imported." in browser.get(PAGE).content.decode()
    assert not Follow.objects.exists()


@pytest.mark.parametrize(
    ("given", "says"), [({}, "Choose a file first."), ({"file": a_file("none")}, "there is no outline in it")]
)
def test_what_cannot_be_taken_is_said(
    browser: Client, ada: Reader, given: dict[str, object], says: str
) -> None:
    answer = browser.post(PAGE, given)
    assert answer.status_code == 400
    assert says in answer.content.decode()
    assert not FollowList.objects.exists()


def test_a_file_of_another_size_or_reader_is_refused(
    browser: Client, ada: Reader, web: Callable[[Reader], Client], bob: Reader
) -> None:
    assert browser.post(PAGE, {"file": a_file("x" * 5_100_000)}).status_code == 413
    ada.channels.create(uid="hers", name="Hers")
    assert web(bob).post(PAGE, {"file": a_file(), "channel": "hers"}).status_code == 404
    keep_list(reader=ada, body=LIST.encode(), now=NOW)
    web(bob).post(PAGE, {"act": "stop"})
    assert FollowList.objects.get().ended_at is None
    assert "lines are done" not in web(bob).get(PAGE).content.decode()


def test_the_list_is_taken_along_by_channel_and_without_secrets(
    browser: Client, ada: Reader, home: Channel
) -> None:
    news = ada.channels.create(uid="news", name="News & more")
    feed = FeedFactory(title="Tide", credentials={"user": "u", "password": "hidden-word"})
    for channel in (home, news):
        Follow.objects.create(channel=channel, feed=feed)
    answer = browser.get("/reader/feeds/list.opml")
    assert answer.headers["Content-Disposition"] == 'attachment; filename="ada.opml"'
    found = parse_opml(answer.content).outlines
    assert {(one.url, one.title, one.folder) for one in found} == {
        (feed.url, "Tide", "Home"),
        (feed.url, "Tide", "News & more"),
    }
    assert b"hidden-word" not in answer.content
