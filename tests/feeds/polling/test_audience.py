"""Readers on this site are notified of a poll's posts, without effect on letters."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection

from feeds.models import Feed, Item, Tag
from feeds.polling import audience
from feeds.polling.audience import Told, kept_reading, repair_audience, told_of_all
from feeds.rules.reposts import ONLY_READ, REPOST
from tests.feeds.watched import Blog, at, post

pytestmark = pytest.mark.django_db


class Listener:
    """Listener that records its calls; it may write a row, and then fail."""

    def __init__(self) -> None:
        self.told: list[Told] = []
        self.error: Exception | None = None

    def take(self, feed: Feed, told: Told) -> None:
        assert connection.in_atomic_block
        Tag.objects.create(name=f"told {len(self.told)} of {feed.pk}")
        if self.error:
            raise self.error
        self.told.append(told)

    @property
    def new(self) -> list[set[str]]:
        """Return the guids of new posts, per call."""
        return [{told.reading.guids[id_] for id_ in told.inserted} for told in self.told]


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    one = Listener()
    monkeypatch.setattr(audience, "audiences", [one.take])
    return one


def followed(blog: Blog, **options: Any) -> Blog:
    blog.watch(**options)
    Feed.objects.update(read_by=1)
    return blog


def test_nobody_is_told_of_a_feed_that_nobody_follows(blog: Blog, listener: Listener) -> None:
    blog.show("a")
    blog.watch()
    blog.read(0)
    assert listener.told == []


def test_each_post_is_new_once_and_withdrawn_posts_are_named(blog: Blog, listener: Listener) -> None:
    blog.show("a")
    followed(blog).read(0)
    blog.show("c", "b", "a")
    blog.read(10)
    blog.read(20)
    blog.show("b", "a")
    blog.read(30)
    assert listener.new == [{"a"}, {"b", "c"}, set()]
    assert [told.first for told in listener.told] == [True, False, False]
    assert [told.withdrawn for told in listener.told] == [(), (), (blog.item("c").pk,)]
    assert {told.reading.cleaned(id_).title for told in listener.told for id_ in told.inserted} == {
        "Post a",
        "Post b",
        "Post c",
    }


def test_a_repost_is_not_new(blog: Blog, listener: Listener) -> None:
    blog.show("a")
    followed(blog, start="all", min_delay_minutes=0, await_stabilization_minutes=0).read(0)
    Item.objects.update(state="cleared", entry=None)
    blog.show(post("a2", link="https://blog.example.org/a", title="Post a"))
    blog.read(10)
    assert blog.item("a2").reason == REPOST
    assert listener.new == [{"a"}, set()]


@pytest.mark.parametrize("error", [ValueError("x"), DatabaseError("x"), KeyError("x")])
def test_what_an_audience_raises_undoes_nothing_of_the_letters(
    blog: Blog, listener: Listener, error: Exception
) -> None:
    blog.show("a")
    followed(blog).read(0)
    listener.error = error
    blog.show("b", "a")
    result = blog.read(10)
    assert (result.new, blog.states()) == (1, {"a": "excluded", "b": "unassigned"})
    assert Tag.objects.count() == 1, "its own rows of this time are undone"
    assert blog.feed.audience_behind_since == at(10)


def test_what_was_missed_is_told_later_once(blog: Blog, listener: Listener) -> None:
    followed(blog).read(0)
    listener.error = ValueError()
    blog.show("a")
    blog.read(10)
    assert repair_audience(now=at(11)) == 0
    listener.error = None
    assert repair_audience(now=at(12)) == 1
    assert listener.new == [set(), {"a"}]
    assert repair_audience(now=at(13)) == 0
    blog.feed.refresh_from_db()
    assert blog.feed.audience_behind_since is None


def test_the_next_poll_tells_what_was_missed_too(blog: Blog, listener: Listener) -> None:
    listener.error = ValueError()
    blog.show("a")
    followed(blog).read(0)
    blog.show("b", "a")
    blog.read(10)
    listener.error = None
    blog.show("c", "b", "a")
    blog.read(20)
    assert listener.new == [{"a", "b", "c"}]
    assert [told.first for told in listener.told] == [True]
    assert blog.feed.audience_behind_since is None


def test_whoever_begins_to_follow_is_told_what_is_there(blog: Blog, listener: Listener) -> None:
    blog.show("b", "a")
    blog.watch()
    blog.read(0)
    reading = kept_reading(blog.feed.pk)
    assert reading is not None
    told = told_of_all(blog.feed, reading, at(5))
    assert ({reading.guids[id_] for id_ in told.inserted}, told.first) == ({"a", "b"}, True)
    assert {reading.cleaned(id_).title for id_ in told.inserted} == {"Post a", "Post b"}


class TestAFeedThatIsOnlyRead:
    def test_its_posts_are_excluded_as_they_come_and_nothing_settles(
        self, blog: Blog, listener: Listener
    ) -> None:
        blog.show(*(f"old {number}" for number in range(15)))
        followed(blog, for_letters=False).read(0)
        blog.show(*(f"new {number}" for number in range(20)))
        result = blog.read(10)
        assert set(blog.states().values()) == {"excluded"}
        assert set(Item.objects.values_list("reason", flat=True)) == {ONLY_READ}
        assert (result.held, blog.feed.held_since) == (0, None), "no flood: its posts aren’t sent"
        assert not Item.objects.settling().exists()
        assert [len(new) for new in listener.new] == [15, 20]

    def test_from_its_first_newsletter_on_its_posts_settle(self, blog: Blog, listener: Listener) -> None:
        blog.show("a")
        followed(blog, for_letters=False).read(0)
        Feed.objects.update(for_letters=True)
        blog.show("b", "a")
        blog.read(10)
        assert blog.states() == {"a": "excluded", "b": "unassigned"}
        assert listener.new == [{"a"}, {"b"}]

    def test_a_post_is_recognised_under_another_id(self, blog: Blog, listener: Listener) -> None:
        blog.show("a")
        followed(blog, for_letters=False).read(0)
        blog.show(post("a2", link="https://blog.example.org/a", title="Post a"))
        blog.read(10)
        assert (blog.item("a2").reason, listener.new) == (REPOST, [{"a"}, set()])


def test_a_poll_without_followers_asks_the_database_nothing_more(
    blog: Blog, listener: Listener, django_assert_max_num_queries: Any
) -> None:
    def questions(followers: int) -> int:
        Feed.objects.update(read_by=followers, next_poll_at=at(0) + timedelta(days=1))
        blog.show(*(f"{followers}-{number}" for number in range(3)))
        with django_assert_max_num_queries(100) as asked:
            blog.read(10 + followers)
        return len(asked)

    blog.show("a")
    blog.watch()
    blog.read(0)
    without = questions(0)
    assert not listener.told
    assert questions(1) > without
