"""Finding and following feeds, and limits on foreign URLs."""

from datetime import datetime
from typing import Any

import pytest
from django.db import connection

from common.refused import Refused
from feeds.models import Feed
from reader.channels.channels import NoSuchChannel
from reader.channels.filters import mute
from reader.channels.follows import follow_feed
from reader.entries.place import place_due
from reader.models import Channel, Entry, Follow, Reader, TimelineEntry
from tests.factories import FeedFactory
from tests.feeds.watched import Blog, at
from tests.races import beside
from tests.reader.client import MicrosubClient

PAGE = '<!doctype html><title>A page</title><link rel="alternate" type="application/rss+xml" href="{}">'
SITE = "https://blog.example.org/"
pytestmark = pytest.mark.django_db


def a_page(blog: Blog) -> str:
    html = PAGE.format(blog.server.url(blog.path))
    return blog.server.serve("/", html, headers={"Content-Type": "text/html"})


class TestFollowing:
    def test_a_page_leads_to_its_feed_and_twice_is_once(self, blog: Blog, api: MicrosubClient) -> None:
        blog.show("a", title="Blog")
        page, url = a_page(blog), blog.server.url(blog.path)
        for _ in range(2):
            assert api.do("follow", channel="home", url=page) == {"type": "feed", "url": url, "name": "Blog"}
        assert (Feed.objects.count(), Follow.objects.count(), Feed.objects.get().read_by) == (1, 1, 1)

    def test_one_feed_may_stand_in_two_channels_of_two_people(
        self, blog: Blog, api: MicrosubClient, bob: Reader
    ) -> None:
        blog.show("a")
        url, other = blog.server.url(blog.path), api.do("channels", name="Other")["uid"]
        api.do("follow", channel="home", url=url)
        api.do("follow", channel=other, url=url)
        MicrosubClient(bob).do("follow", channel="home", url=url)
        assert (Feed.objects.count(), Feed.objects.get().read_by) == (1, 3)
        api.do("unfollow", channel=other, url=url)
        assert Feed.objects.get().read_by == 2
        assert api.do("unfollow", channel=other, url=url)["type"] == "feed", "not followed is no error"

    def test_a_feed_moves_to_another_channel(self, blog: Blog, api: MicrosubClient) -> None:
        blog.show("a")
        url, other = blog.server.url(blog.path), api.do("channels", name="Other")["uid"]
        api.do("follow", channel="home", url=url)
        for _ in range(2):
            api.do("follow", channel=other, url=url, method="update")
        assert [row.channel.uid for row in Follow.objects.all()] == [other]
        assert Feed.objects.get().read_by == 1

    def test_a_feed_with_credentials_is_not_shared(self, blog: Blog, api: MicrosubClient) -> None:
        blog.show("a")
        url = blog.server.url(blog.path)
        private = FeedFactory(url=url, host=url.split("/")[2], credentials={"user": "u", "password": "p"})
        api.do("follow", channel="home", url=url)
        followed = Follow.objects.get().feed
        assert (followed.pk == private.pk, bool(followed.credentials)) == (False, False)

    def test_nobody_follows_without_end(self, blog: Blog, api: MicrosubClient, settings: Any) -> None:
        settings.READER_MAX_FEEDS = 0
        status, answer = api.post("follow", channel="home", url=blog.server.url(blog.path))
        assert (status, answer["error"]) == (400, "invalid_request")
        assert "which is the maximum" in answer["error_description"]

    @pytest.mark.parametrize("action", ["follow", "preview"])
    @pytest.mark.parametrize(
        "url", ["javascript:alert(1)", "file:///etc/passwd", "http://169.254.169.254/", "http://[::1]:1/"]
    )
    def test_no_address_but_public_ones_of_the_web(
        self, api: MicrosubClient, settings: Any, action: str, url: str
    ) -> None:
        settings.ALLOW_PRIVATE_NETWORKS = []
        status, answer = api.post(action, channel="home", url=url)
        assert (status, answer["error"]) == (400, "invalid_request")
        assert not Feed.objects.exists()

    def test_a_redirect_into_a_private_network_is_refused(self, blog: Blog, api: MicrosubClient) -> None:
        url = blog.server.redirect("/away", "http://10.0.0.1/feed")
        assert api.post("follow", channel="home", url=url)[0] == 400


class TestLooking:
    def test_a_search_names_the_feeds_of_a_page(self, blog: Blog, api: MicrosubClient) -> None:
        blog.show("a", title="Blog")
        (found,) = api.do("search", query=a_page(blog))["results"]
        assert (found["type"], found["url"], found["name"]) == ("feed", blog.server.url(blog.path), "Blog")
        assert not Feed.objects.exists()

    def test_nothing_found_is_no_error(self, api: MicrosubClient, loopback_allowed: None) -> None:
        assert api.do("search", query="http://127.0.0.1:9/")["results"] == []
        assert api.do("search", query="mailto:x")["results"] == []

    def test_a_preview_shows_posts_and_stores_nothing(self, blog: Blog, api: MicrosubClient) -> None:
        blog.show(*(str(number) for number in range(30)), title="Blog")
        for answer in (
            api.ask("preview", url=blog.server.url(blog.path)),
            api.do("preview", url=blog.server.url(blog.path)),
        ):
            assert (answer["type"], answer["name"], len(answer["items"])) == ("feed", "Blog", 20)
            assert answer["items"][0]["name"] == "Post 0"
        assert not Feed.objects.exists()
        assert not Entry.objects.exists()


@pytest.fixture
def known(blog: Blog, bob: Reader) -> Blog:
    """Return a blog that Bob follows already, so that its last document is stored."""
    blog.show("b", "a", link=SITE)
    blog.watch()
    follow_feed(channel=bob.channels.get(uid="home"), feed=blog.feed, clock=lambda: at(-1))
    blog.read(0)
    place_due(clock=lambda: at(1))
    return blog


def hidden_in(channel: Channel) -> list[Any]:
    return list(TimelineEntry.objects.filter(channel=channel).order_by("pk").values_list("hidden", flat=True))


class TestWhatAFeedHoldsAlready:
    def test_it_stands_there_at_once(self, known: Blog, home: Channel) -> None:
        follow_feed(channel=home, feed=known.feed, clock=lambda: at(2))
        assert hidden_in(home) == [TimelineEntry.Hidden.SEEN] * 2

    @pytest.mark.parametrize(("is_block", "there"), [(False, [TimelineEntry.Hidden.MUTED] * 2), (True, [])])
    def test_it_shows_nothing_of_who_is_not_wanted(
        self, known: Blog, home: Channel, is_block: bool, there: list[str]
    ) -> None:
        mute(reader=home.reader, channel=home, url=SITE, now=at(1), is_block=is_block)
        follow_feed(channel=home, feed=known.feed, clock=lambda: at(2))
        assert hidden_in(home) == there

    def test_a_post_that_another_feed_has_brought_shows_once(self, known: Blog, home: Channel) -> None:
        follow_feed(channel=home, feed=known.feed, clock=lambda: at(2))
        other = Blog(known.server, "/other.xml")
        other.show("c", "a", link=SITE)
        other.watch()
        follow_feed(channel=home.reader.channels.create(uid="x", name="X"), feed=other.feed)
        other.read(3)
        follow_feed(channel=home, feed=other.feed, clock=lambda: at(4))
        copies = TimelineEntry.objects.filter(channel=home, entry__feed=other.feed).order_by(
            "entry__item__guid"
        )
        assert list(copies.values_list("hidden", flat=True)) == [
            TimelineEntry.Hidden.DUPLICATE,
            TimelineEntry.Hidden.SEEN,
        ]

    def test_a_post_that_was_withdrawn_does_not_show(self, known: Blog, home: Channel) -> None:
        Entry.objects.filter(item__guid="a").update(withdrawn_at=at(1))
        follow_feed(channel=home, feed=known.feed, clock=lambda: at(2))
        assert len(hidden_in(home)) == 1

    def test_a_text_that_was_forgotten_is_there_again(self, known: Blog, home: Channel) -> None:
        TimelineEntry.objects.all().delete()
        Entry.objects.update(jf2=None, text="")
        follow_feed(channel=home, feed=known.feed, clock=lambda: at(2))
        assert not Entry.objects.filter(jf2=None).exists()
        assert len(hidden_in(home)) == 2

    @pytest.mark.parametrize("times", [1, 9])
    def test_a_reading_that_comes_between_is_no_hindrance(
        self, known: Blog, home: Channel, times: int
    ) -> None:
        """The clock is read between our look at the document and our lock."""
        asked = 0

        def clock() -> datetime:
            nonlocal asked
            asked += 1
            if asked <= times:
                known.show(f"new {asked}", "b", "a", link=SITE)
                known.read(10 * asked)
            return at(10 * asked)

        assert follow_feed(channel=home, feed=known.feed, clock=clock)[1]
        place_due(clock=lambda: at(200))
        names = set(TimelineEntry.objects.filter(channel=home).values_list("entry__item__guid", flat=True))
        assert names == ({"new 1", "b", "a"} if times == 1 else {"new 3"})

    def test_what_is_gone_meanwhile_is_refused_with_a_sentence(self, known: Blog, home: Channel) -> None:
        def clock() -> datetime:
            home.delete()
            return at(2)

        with pytest.raises(NoSuchChannel, match="Channel not found"):
            follow_feed(channel=Channel(pk=home.pk), feed=known.feed, clock=clock)
        Follow.objects.all().delete()
        Feed.objects.all().delete()
        with pytest.raises(Refused, match="was just removed"):
            follow_feed(channel=home, feed=known.feed, clock=lambda: at(3))


def test_following_and_placing_at_once_put_each_post_there_once(
    transactional_db: None, blog: Blog, home: Channel, bob: Reader
) -> None:
    blog.show("b", "a")
    blog.watch()
    follow_feed(channel=bob.channels.get(uid="home"), feed=blog.feed, clock=lambda: at(-1))
    blog.read(0)
    beside(
        lambda: place_due(clock=lambda: at(1)),
        lambda: follow_feed(channel=home, feed=blog.feed, clock=lambda: at(1)),
        blocks=True,
    )
    place_due(clock=lambda: at(2))
    assert TimelineEntry.objects.filter(channel=home).count() == 2
    assert TimelineEntry.objects.count() == 4


def test_a_poll_does_not_wait_for_posts_that_are_being_placed(
    transactional_db: None, blog: Blog, home: Channel
) -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time.")
    blog.show("a")
    blog.watch()
    follow_feed(channel=home, feed=blog.feed, clock=lambda: at(-1))
    blog.read(0)
    blog.show("b", "a")
    _, result = beside(lambda: place_due(clock=lambda: at(1)), lambda: blog.read(10), blocks=False)
    assert result.ok
