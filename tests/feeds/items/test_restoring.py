"""After a restore, unsent posts are held, and so are the new posts of the next full reading."""

import pytest

from common.admin.html import block
from feeds.admin.item import WHY_FLOODS_ARE_HELD, WHY_RESTORED, held
from feeds.items.held import exclude_held, hold_all, release
from feeds.items.history import standing
from feeds.models import Feed
from feeds.polling.poll import push_feed
from feeds.rules.finality import NOT_AFTER_RESTORE, RESTORED
from tests.factories import FinalItemFactory
from tests.feeds.watched import Blog, at
from tests.servers.documents import rss


@pytest.fixture
def restored(blog: Blog) -> Blog:
    """Read the feed with `old` at the adding; restore a backup of that a day later."""
    blog.show("old")
    blog.watch()
    blog.read(0)
    assert hold_all(now=at(1500)) == 0
    blog.feed.refresh_from_db()
    return blog


def test_new_posts_of_the_next_reading_are_held_and_say_why(restored: Blog) -> None:
    restored.show("since", "old")
    assert restored.read(1510).held == 1
    item = restored.item("since")
    assert (item.held_at, item.reason, restored.feed.held_since) == (at(1510), RESTORED, at(1510))
    assert "a backup was restored" in standing(item, at(1511))
    assert WHY_RESTORED in block(held(restored.feed))
    assert WHY_FLOODS_ARE_HELD not in block(held(restored.feed))


def test_posts_of_later_readings_are_not_held(restored: Blog) -> None:
    restored.show("since", "old")
    restored.read(1510)
    restored.show("later", "since", "old")
    assert restored.read(1520).held == 0
    restored.read(1600)
    assert restored.final() == {"later"}


def test_a_reading_that_brings_nothing_new_lets_later_posts_go(restored: Blog) -> None:
    restored.read(1510)
    assert not restored.feed.hold_next
    restored.show("later", "old")
    assert restored.read(1520).held == 0


def test_a_reading_that_fails_changes_nothing(restored: Blog) -> None:
    restored.serve("no feed", status=500)
    assert not restored.poll(1510).ok
    assert restored.feed.hold_next
    restored.show("since", "old")
    assert restored.read(1600).held == 1


def test_what_a_hub_pushes_is_held_and_the_next_reading_still_holds(restored: Blog) -> None:
    document = rss([{"guid": "pushed", "link": "https://blog.example.org/pushed", "title": "Pushed"}])
    result = push_feed(
        feed_id=restored.feed.pk,
        body=document,
        headers={"content-type": "text/xml"},
        moment=at(1505),
        now=at(1505),
    )
    assert result is not None
    assert result.held == 1
    restored.show("since", "pushed", "old")
    assert restored.read(1510).held == 1
    assert restored.item("pushed").held_at == at(1505)


def test_a_feed_that_was_never_read_holds_what_it_would_have_sent(blog: Blog) -> None:
    blog.show("b", "a")
    blog.watch(start="last", start_count=1)
    hold_all(now=at(10))
    assert blog.read(20).held == 1
    assert blog.item("b").reason == RESTORED


def test_posts_that_had_not_settled_are_held_and_settle_when_let_go(blog: Blog) -> None:
    blog.show("old")
    blog.watch()
    blog.read(0)
    blog.show("fresh", "old")
    blog.read(10)
    assert hold_all(now=at(1500)) == 1
    for minutes in (1510, 1600):
        blog.read(minutes)
    assert blog.final() == set()
    assert release(feed_ids=[blog.feed.pk], now=at(1700)) == 1
    assert blog.item("fresh").reason == ""
    blog.read(1710)
    assert blog.final() == {"fresh"}


@pytest.mark.django_db
def test_a_settled_post_that_no_collection_had_taken_is_held() -> None:
    item = FinalItemFactory()
    assert hold_all(now=at(0)) == 1
    item.refresh_from_db()
    assert [item.held_at, item.final_at, item.feed.held_since] == [at(0), None, at(0)]


@pytest.mark.django_db
def test_posts_in_a_collection_stay_there() -> None:
    item = FinalItemFactory(state="assigned")
    assert hold_all(now=at(0)) == 0
    item.refresh_from_db()
    assert (item.held_at, item.feed.held_since) == (None, None)


def test_what_is_not_to_be_sent_says_that_it_was_held_after_a_restore(restored: Blog) -> None:
    restored.show("since", "old")
    restored.read(1510)
    assert exclude_held(feed_ids=[restored.feed.pk], now=at(1520)) == 1
    assert restored.item("since").reason == NOT_AFTER_RESTORE
    assert "after a backup was restored" in standing(restored.item("since"), at(1521))
    assert Feed.objects.get().held_since is None
