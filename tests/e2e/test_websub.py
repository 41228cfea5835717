"""A hub, a blog and the program over real sockets: subscribe, push, renew, and leave."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import serializers

from common.clock import utcnow
from feeds.adding.add import add_feed
from feeds.hubs.subscriptions import keep_hubs, read_pushes
from feeds.models import Feed, HubSubscription, Item, Poll
from feeds.polling.poll import poll_feed
from tests.feeds.watched import post
from tests.servers.documents import rss
from tests.servers.feed_server import FeedServer
from tests.servers.hub import Hub

pytestmark = pytest.mark.django_db(transaction=True)
ATOM = "http://www.w3.org/2005/Atom"


@pytest.fixture
def hub(live_urls: str, loopback_allowed: None) -> Iterator[Hub]:
    with Hub() as running:
        yield running


class Blog:
    """Feed that names a hub; `show` also notifies the hub, as a good publisher does."""

    def __init__(self, server: FeedServer, hub: Hub) -> None:
        self.server, self.hub = server, hub
        self.topic = server.url("/feed.xml")

    def body(self, *names: str) -> bytes:
        links = f'<a:link xmlns:a="{ATOM}" rel="hub" href="{self.hub.url}"/>'
        links += f'<a:link xmlns:a="{ATOM}" rel="self" href="{self.topic}"/>'
        return rss([post(name) for name in names], extra=links)

    def show(self, *names: str, **push: Any) -> list[int]:
        body = self.body(*names)
        self.server.serve("/feed.xml", body)
        return self.hub.push(self.topic, body, **push)


@pytest.fixture
def blog(hub: Hub) -> Iterator[Blog]:
    with FeedServer() as server:
        blog = Blog(server, hub)
        blog.show("old")
        yield blog


@pytest.fixture
def feed(blog: Blog, hub: Hub) -> Feed:
    """Return a feed that was read once and is subscribed to the hub."""
    added = add_feed(url=blog.topic, now=utcnow() - timedelta(hours=1))
    read(added)
    keep_hubs()
    hub.settle()
    return added


def read(feed: Feed, at: datetime | None = None) -> Poll:
    """Process pushes, then poll, as a worker does."""
    read_pushes()
    result = poll_feed(feed_id=feed.pk, now=at or utcnow())
    assert result is not None
    assert result.ok, result.error
    return result


def row_of(feed: Feed) -> HubSubscription:
    return HubSubscription.objects.get(feed=feed)


def waiting(feed: Feed) -> set[str]:
    read_pushes()
    return set(Item.objects.unassigned().filter(feed=feed).values_list("guid", flat=True))


def everything() -> str:
    read_pushes()
    return str(serializers.serialize("json", [*Item.objects.order_by("pk"), *Feed.objects.order_by("pk")]))


def test_a_feed_that_names_a_hub_is_subscribed_and_verified(feed: Feed, hub: Hub, blog: Blog) -> None:
    row = row_of(feed)
    assert (row.state, row.hub, row.topic) == ("active", hub.url, blog.topic)
    assert [answer.status for answer in hub.verifications] == [200]
    assert len(hub.subscribers) == 1


@pytest.mark.parametrize("at_once", [False, True])
def test_hubs_may_verify_before_or_after_they_answer(blog: Blog, hub: Hub, at_once: bool) -> None:
    hub.at_once = at_once
    feed = add_feed(url=blog.topic, now=utcnow())
    read(feed)
    keep_hubs()
    hub.settle()
    row = row_of(feed)
    assert (row.state, row.failures, row.last_error) == ("active", 0, "")
    assert row.next_at > utcnow() + timedelta(days=7)


@pytest.mark.parametrize("method", ["sha1", "sha512"])
def test_a_pushed_post_is_there_and_settles_like_a_polled_one(feed: Feed, blog: Blog, method: str) -> None:
    assert blog.show("new", "old", method=method) == [202]
    assert not Item.objects.filter(guid="new").exists(), "the web process reads no push"
    assert waiting(feed) == {"new"}
    item = Item.objects.get(guid="new")
    assert item.final_at is None
    read(feed, item.first_seen + timedelta(minutes=29))
    assert not Item.objects.final().exists()
    read(feed, item.first_seen + timedelta(minutes=31))
    assert set(Item.objects.final().values_list("guid", flat=True)) == {"new"}


def test_a_push_with_new_entries_only_withdraws_nothing(feed: Feed, blog: Blog, hub: Hub) -> None:
    blog.show("one", "old")
    read_pushes()
    hub.push(blog.topic, blog.body("two"))
    assert waiting(feed) == {"one", "two"}
    blog.server.serve("/feed.xml", blog.body("two", "one", "old"))
    assert read(feed).vanished == 0
    assert waiting(feed) == {"one", "two"}


def test_a_post_that_was_pushed_and_is_not_in_the_feed_any_more_is_withdrawn(feed: Feed, blog: Blog) -> None:
    blog.show("hasty", "old")
    blog.server.serve("/feed.xml", blog.body("old"))
    assert read(feed).vanished == 1
    assert waiting(feed) == set()


def test_a_forged_push_changes_nothing(feed: Feed, blog: Blog, hub: Hub) -> None:
    before = everything()
    assert hub.push(blog.topic, blog.body("forged", "old"), secret="guessed") == [202]
    assert everything() == before
    assert row_of(feed).refused == 1


def test_a_push_that_comes_again_changes_nothing_even_after_the_post_was_withdrawn(
    feed: Feed, blog: Blog, hub: Hub
) -> None:
    body = blog.body("new", "old")
    hub.push(blog.topic, body)
    blog.server.serve("/feed.xml", blog.body("old"))
    read(feed)
    before = everything()
    assert hub.push(blog.topic, body) == [202]
    assert everything() == before


def test_what_is_no_feed_makes_the_feed_due_and_a_reading_pays(feed: Feed, blog: Blog, hub: Hub) -> None:
    blog.server.serve("/feed.xml", blog.body("new", "old"))
    assert hub.push(blog.topic, b"something new is there", content_type="text/plain") == [202]
    assert waiting(feed) == set()
    assert Feed.objects.due(utcnow()).exists()
    assert row_of(feed).owed_at is not None
    read(feed)
    assert waiting(feed) == {"new"}
    keep_hubs()
    assert row_of(feed).owed_at is None


def test_a_push_during_a_reading_is_not_lost(feed: Feed, blog: Blog, hub: Hub) -> None:
    """The reading began before the post existed, and ends after the push."""
    Feed.objects.filter(pk=feed.pk).update(
        lease_token="9b2b6a1e-0d5c-4c5b-8f0e-3d5f7c1f2a11", lease_until=utcnow() + timedelta(minutes=1)
    )
    assert blog.show("new", "old") == [202]
    assert waiting(feed) == set()
    later = utcnow() + timedelta(hours=1)
    Feed.objects.filter(pk=feed.pk).update(lease_token=None, lease_until=None, next_poll_at=later)
    keep_hubs()
    assert Feed.objects.due(utcnow()).exists()
    read(feed)
    assert waiting(feed) == {"new"}


def test_it_is_renewed_before_it_ends(feed: Feed, hub: Hub) -> None:
    before = row_of(feed)
    keep_hubs(clock=lambda: before.next_at)
    hub.settle()
    assert hub.modes() == ["subscribe", "subscribe"]
    assert len(hub.subscribers) == 1
    after = row_of(feed)
    assert (after.state, after.token) == ("active", before.token)
    assert after.expires_at is not None
    assert before.expires_at is not None
    assert after.expires_at > before.expires_at


def test_a_denial_is_shown_with_its_reason(blog: Blog, hub: Hub) -> None:
    hub.denies = "This blog is private."
    feed = add_feed(url=blog.topic, now=utcnow())
    read(feed)
    keep_hubs()
    hub.settle()
    row = row_of(feed)
    assert (row.state, row.last_error) == ("denied", "This blog is private.")
    assert hub.subscribers == {}


def test_a_removed_feed_is_unsubscribed_and_pushes_are_gone(feed: Feed, blog: Blog, hub: Hub) -> None:
    (subscriber,) = hub.subscribers.values()
    feed.delete()
    assert hub.push(blog.topic, blog.body("late", "old")) == [410]
    keep_hubs()
    hub.settle()
    assert hub.modes() == ["subscribe", "unsubscribe"]
    assert hub.subscribers == {}
    assert not HubSubscription.objects.exists()
    assert not hub.verify(subscriber.callback, "subscribe", blog.topic)


def test_a_stranger_cannot_subscribe_us_to_anything(feed: Feed, hub: Hub) -> None:
    (subscriber,) = hub.subscribers.values()
    assert not hub.verify(subscriber.callback, "subscribe", "https://spam.example/")
    assert not hub.verify(subscriber.callback, "unsubscribe", subscriber.topic)
    assert row_of(feed).state == "active"


def test_a_hub_in_the_link_header_wins(blog: Blog, hub: Hub) -> None:
    link = f'<{hub.url}>; rel=hub, </canonical.xml>; rel="self"'
    blog.server.serve("/feed.xml", rss([post("old")]), headers={"Link": link})
    feed = add_feed(url=blog.topic, now=utcnow())
    read(feed)
    keep_hubs()
    assert row_of(feed).topic == blog.server.url("/canonical.xml")


def test_while_its_hub_is_live_a_feed_is_read_less_often_and_a_silent_hub_ends_that(
    feed: Feed, blog: Blog, hub: Hub
) -> None:
    def pace() -> tuple[str, timedelta]:
        """Return the pace after a reading by which everything has settled."""
        at = utcnow() + timedelta(hours=4)
        read(feed, at)
        feed.refresh_from_db()
        return feed.next_poll_why, feed.next_poll_at - at

    why, slow = pace()
    assert (why, slow > timedelta(minutes=50)) == ("hub", True)
    for names in (["one", "old"], ["two", "one", "old"]):
        blog.server.serve("/feed.xml", blog.body(*names))
        read(feed)
    assert row_of(feed).missed == 2
    assert pace() == ("interval", timedelta(minutes=10))
    keep_hubs()
    hub.settle()
    assert hub.modes() == ["subscribe", "subscribe"], "asked anew: it may have forgotten us"
    assert pace()[0] == "interval"
    Feed.objects.update(fetched_through=utcnow())  # not hours ahead, as pace() leaves it
    blog.show("three", "two", "one", "old")
    assert row_of(feed).missed == 0
    assert pace()[0] == "hub"
