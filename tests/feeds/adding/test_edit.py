"""Changing a feed: kept and renewed state, and requirements of the new URL."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from feeds.adding.add import add_feed, alter_feed, alter_feeds, start_over
from feeds.addresses import host_of_url, same_address
from feeds.models import Feed, Item
from feeds.tags import tag_feeds
from tests.factories import NOW, FeedFactory
from tests.feeds.watched import ADDED, Blog, at, post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer


def moved(blog: Blog, path: str, *posts: Any) -> Blog:
    """Move the blog to another path of the same server, with these posts."""
    new = Blog(blog.server, path)
    new.show(*posts)
    new.feed = alter_feed(feed=blog.feed, url=blog.server.url(path))
    return new


def test_items_states_tags_and_settings_stay_when_the_address_changes(blog: Blog) -> None:
    blog.show("c", "b", "a")
    blog.watch(start="last", start_count=2, tags=["News"], pace="adaptive", title="Mine")
    blog.read(0)
    blog.read(60)
    before = {(item.pk, item.guid, item.state, item.first_seen) for item in Item.objects.all()}
    assert blog.final() == {"c", "b"}
    blog = moved(blog, "/moved.xml", "c", "b", "a")
    blog.read(70)
    assert {(item.pk, item.guid, item.state, item.first_seen) for item in Item.objects.all()} == before
    assert [tag.name for tag in blog.feed.tags.all()] == ["News"]
    assert (blog.feed.pace, blog.feed.title) == ("adaptive", "Mine")


def test_the_first_document_at_the_new_address_counts_as_the_adding(blog: Blog) -> None:
    blog.show("a")
    blog.watch(start="all")
    blog.read(0)
    blog = moved(blog, "/moved.xml", "new", "a")
    assert blog.read(10).excluded == 1
    assert blog.states() == {"a": "unassigned", "new": "excluded"}
    blog.show("newer", "new", "a")
    assert blog.read(20).new == 1


@pytest.mark.parametrize("path", ["/feed.xml/", "/feed.xml?x=1", "/FEED.xml", "/other.xml"])
def test_nothing_goes_out_twice_however_little_the_address_changed(blog: Blog, path: str) -> None:
    blog.show("b", "a")
    blog.watch(start="all")
    blog.read(0)
    blog.read(60)
    Item.objects.update(state="cleared", entry=None, content_hash="")
    blog = moved(blog, path, "b", post("a", title="Changed since"))
    for minutes in (70, 80, 300):
        result = blog.read(minutes)
        assert (result.new, result.changed, result.final) == (0, 0, 0)
    assert set(blog.states().values()) == {"cleared"}


def test_from_http_to_https_the_same_guids_are_the_same_posts(db: None) -> None:
    feed = add_feed(url="http://x.test/feed", now=ADDED)
    again = alter_feed(feed=feed, url="https://x.test/feed")
    assert (again.pk, again.host, again.first_polled_at) == (feed.pk, "x.test", None)
    assert same_address("http://x.test/feed") == same_address("https://x.test/feed")


def test_validators_of_the_old_address_are_not_sent_to_the_new_one(blog: Blog) -> None:
    blog.serve(rss([post("a")]), headers={"ETag": '"old"'})
    blog.watch()
    blog.read(0)
    blog.read(10)
    assert blog.server.asked("/feed.xml")[-1].headers["if-none-match"] == '"old"'
    blog = moved(blog, "/moved.xml", "a")
    blog.read(20)
    (request,) = blog.server.asked("/moved.xml")
    assert not {"if-none-match", "if-modified-since"} & set(request.headers)


def test_writing_the_same_address_again_begins_nothing_anew(blog: Blog) -> None:
    blog.show("a")
    blog.watch(start="all")
    blog.read(0)
    feed = alter_feed(feed=blog.feed, url=f" {blog.feed.url} ")
    assert feed.first_polled_at == at(0)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Blog.Example/feed", "blog.example"),
        ("https://blog.example:443/", "blog.example"),
        ("http://blog.example:443/", "blog.example:443"),
        ("http://blog.example.:8080/", "blog.example:8080"),
        ("https://ada:secret@blog.example/", "blog.example"),
        ("http://[::1]:8000/", "[::1]:8000"),
        ("http://[::1/", ""),
    ],
)
def test_requests_are_counted_by_host(url: str, host: str) -> None:
    assert host_of_url(url) == host


@pytest.mark.django_db
def test_every_change_of_address_changes_the_host() -> None:
    feed = add_feed(url="https://One.example/", now=NOW)
    assert feed.host == "one.example"
    alter_feed(feed=feed, url="http://two.example:8080/")
    feed.refresh_from_db()
    assert feed.host == "two.example:8080"
    alter_feed(feed=feed, title="Other")
    feed.refresh_from_db()
    assert feed.host == "two.example:8080"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"pace": "hectic"}, "pace"),
        ({"ceiling_minutes": 10**6}, "ceiling_minutes"),
        ({"hold_floods": "perhaps"}, "hold_floods"),
        ({"title": "x" * 1001}, "title"),
        ({"tags": ["a,b"]}, "tags"),
        ({"url": "https://" + "x" * 254 + "/"}, "url"),
    ],
)
def test_wrong_settings_are_refused_by_name_when_adding_and_altering(
    changes: dict[str, Any], field: str
) -> None:
    feed = FeedFactory()
    with pytest.raises(ValidationError) as refused:
        alter_feed(feed=feed, **changes)
    assert set(refused.value.message_dict) == {field}
    with pytest.raises(ValidationError) as refused:
        add_feed(**{"url": "https://x.test/", "now": NOW, **changes})
    assert set(refused.value.message_dict) == {field}
    assert Feed.objects.get().pk == feed.pk


@pytest.mark.django_db
def test_a_long_title_that_a_feed_gave_itself_is_in_nobodys_way() -> None:
    feed = FeedFactory(title="x" * 3000)
    assert alter_feed(feed=feed, pace="adaptive").pace == "adaptive"


@pytest.mark.django_db
def test_a_ceiling_below_the_interval_is_taken_and_means_the_interval() -> None:
    feed = add_feed(url="https://x.test/", now=NOW, recheck_every_minutes=120, ceiling_minutes=30)
    assert (feed.recheck_every_minutes, feed.ceiling_minutes) == (120, 30)


@pytest.mark.django_db
def test_many_are_changed_together_or_none() -> None:
    feeds = FeedFactory.create_batch(3)
    keys = [feed.pk for feed in feeds[:2]]
    assert alter_feeds(feeds=[*keys, 999_999], pace="adaptive", ceiling_minutes=240) == 2
    assert [feed.pace for feed in Feed.objects.order_by("pk")] == ["adaptive", "adaptive", "fixed"]
    with pytest.raises(ValidationError):
        alter_feeds(feeds=keys, pace="fixed", ceiling_minutes=10**6)
    with pytest.raises(ValidationError, match="url"):
        alter_feeds(feeds=keys, url="https://x.test/")
    assert Feed.objects.get(pk=keys[0]).pace == "adaptive"


@pytest.mark.django_db
def test_a_shorter_interval_of_many_takes_effect_at_once_but_not_against_a_back_off() -> None:
    later = NOW + timedelta(days=1)
    read = {"last_polled_at": NOW, "next_poll_at": later, "recheck_every_minutes": 1440}
    well, failing = FeedFactory(**read), FeedFactory(**read, failures=3)
    new, slower = FeedFactory(next_poll_at=NOW), FeedFactory(**{**read, "recheck_every_minutes": 5})
    alter_feeds(feeds=[feed.pk for feed in (well, failing, new, slower)], recheck_every_minutes=20)
    due = dict(Feed.objects.values_list("pk", "next_poll_at"))
    assert due == {well.pk: NOW + timedelta(minutes=20), failing.pk: later, new.pk: NOW, slower.pk: later}


@pytest.mark.django_db
def test_starting_over_makes_failing_feeds_due_and_no_others() -> None:
    later = NOW + timedelta(days=1)
    failing = FeedFactory(failures=9, next_poll_at=later, failing_since=NOW)
    paused = FeedFactory(failures=9, next_poll_at=later, status="paused")
    well = FeedFactory(next_poll_at=later)
    assert start_over(feeds=[failing.pk, paused.pk, well.pk], now=NOW) == 1
    due = dict(Feed.objects.values_list("pk", "next_poll_at"))
    assert due == {failing.pk: NOW, paused.pk: later, well.pk: later}


@pytest.mark.django_db
def test_pausing_a_feed_leaves_tags_and_address() -> None:
    feed = FeedFactory()
    tag_feeds(feeds=[feed.pk], names=["News"])
    assert [tag.name for tag in alter_feed(feed=feed, status="paused").tags.all()] == ["News"]


def test_over_tls_the_same_posts_are_recognised(blog: Blog) -> None:
    """Another server with the same guids, as after a move from http to https or to another machine."""
    blog.show("b", "a")
    blog.watch(start="all")
    blog.read(0)
    blog.read(60)
    with FeedServer() as other:
        new = Blog(other)
        new.show("b", "a")
        new.feed = alter_feed(feed=blog.feed, url=other.url("/feed.xml"))
        assert (new.read(70).new, new.read(80).excluded) == (0, 0)
    assert Item.objects.count() == 2
