"""Floods: held, decided, undone.

Including excluded posts again.
After a restore, unsent posts are held, and so are the new posts of the next full reading.
"""

from datetime import timedelta

import pytest
from django.db import connection

from common.admin.html import block
from feeds.adding.add import alter_feed
from feeds.admin.item import WHY_FLOODS_ARE_HELD, WHY_RESTORED, held
from feeds.items.held import exclude_held, hold_all, include_item, release
from feeds.items.history import standing
from feeds.models import Feed, FeedDocument, Item
from feeds.polling.poll import push_feed
from feeds.rules.finality import FLOOD, NOT_AFTER_RESTORE, RESTORED
from subscriptions.collections.assign import EXCLUDED_BY_HAND, assign_final, exclude
from tests.factories import FeedFactory, FinalItemFactory, ItemFactory, SubscribableFactory
from tests.feeds.watched import Blog, at, post
from tests.races import beside
from tests.servers.documents import rss

FLOODED = [f"new {n}" for n in range(12)]


@pytest.fixture
def watched(blog: Blog) -> Blog:
    """Read the feed once, at the adding, with the post `old`."""
    blog.show("old")
    blog.watch()
    blog.read(0)
    return blog


@pytest.fixture
def flooded(watched: Blog) -> Blog:
    """Publish twelve posts at once, after ten minutes."""
    watched.show(*FLOODED, "old")
    assert watched.read(10).held == 12
    return watched


def test_a_flood_is_held_and_the_feed_says_so(flooded: Blog) -> None:
    assert (flooded.feed.held_since, flooded.feed.health) == (at(10), "held")
    item = flooded.item("new 3")
    assert (item.held_at, item.state, item.final_at) == (at(10), "unassigned", None)
    assert item.entry is not None


def test_what_is_held_never_settles_and_is_never_assigned(flooded: Blog) -> None:
    SubscribableFactory(feeds=[flooded.feed])
    for minutes in (60, 200, 2000):
        flooded.read(minutes)
    assert flooded.final() == set()
    assert assign_final(clock=lambda: at(2000)) == 0
    assert flooded.item("new 3").last_checked == at(2000)


def test_posts_that_come_after_a_flood_are_not_held(flooded: Blog) -> None:
    flooded.show("later", *FLOODED, "old")
    flooded.read(20)
    flooded.read(60)
    assert flooded.final() == {"later"}
    assert flooded.feed.held_since == at(10)


def test_released_posts_settle_at_the_next_reading_as_if_never_held(flooded: Blog) -> None:
    assert release(feed_ids=[flooded.feed.pk], now=at(100)) == 12
    flooded.feed.refresh_from_db()
    assert (flooded.feed.held_since, flooded.final()) == (None, set())
    assert flooded.item("new 3").first_seen == at(10)
    assert flooded.read(110).final == 12
    assert flooded.final() == set(FLOODED)


def test_excluded_posts_lose_their_content_and_can_be_taken_back(flooded: Blog) -> None:
    assert exclude_held(feed_ids=[flooded.feed.pk], now=at(100)) == 12
    flooded.feed.refresh_from_db()
    assert flooded.feed.held_since is None
    item = flooded.item("new 3")
    assert (item.state, item.reason, item.entry, item.held_at) == ("excluded", FLOOD, None, None)
    assert "will be sent" in include_item(item_id=item.pk, now=at(110))
    item.refresh_from_db()
    assert (item.first_seen, item.held_at, item.link_hash) != (at(10), None, "")
    flooded.read(150)
    assert flooded.final() == {"new 3"}


def test_one_of_them_may_be_decided_on_alone(flooded: Blog) -> None:
    assert release(item_ids=[flooded.item("new 1").pk, flooded.item("old").pk], now=at(20)) == 1
    assert exclude_held(item_ids=[flooded.item("new 2").pk], now=at(20)) == 1
    flooded.feed.refresh_from_db()
    assert flooded.feed.held_since == at(10)
    flooded.read(60)
    assert flooded.final() == {"new 1"}
    assert Item.objects.held().count() == 10


def test_the_feed_is_no_longer_held_once_the_last_post_was_excluded_by_hand(flooded: Blog) -> None:
    keys = list(Item.objects.held().values_list("pk", flat=True))
    assert all(exclude(item_id=key, reason=EXCLUDED_BY_HAND) for key in keys[:-1])
    flooded.feed.refresh_from_db()
    assert flooded.feed.health == "held"
    exclude(item_id=keys[-1], reason=EXCLUDED_BY_HAND)
    flooded.feed.refresh_from_db()
    assert flooded.feed.health == "active"
    assert not Item.objects.filter(held_at__isnull=False).exists()


@pytest.mark.slow
def test_a_flood_that_is_withdrawn_is_no_longer_held(flooded: Blog) -> None:
    flooded.show("old")
    assert flooded.read(20).vanished == 12
    assert flooded.feed.held_since is None
    flooded.show(*FLOODED, "old")
    assert flooded.read(30).new == 12
    assert flooded.feed.held_since == at(30), "what was held and is back is held again"


def test_what_rolled_off_while_it_was_held_is_sent_when_it_is_let_go(flooded: Blog) -> None:
    flooded.show("newer", *FLOODED[:5])
    flooded.read(20)
    release(feed_ids=[flooded.feed.pk], now=at(30))
    flooded.read(60)
    assert flooded.final() == {"newer", *FLOODED}


def again(blog: Blog, minutes: int) -> int:
    """Publish twelve more posts at once; return how many are held."""
    blog.show(*(f"more {minutes} {n}" for n in range(12)), "old")
    return blog.read(minutes).held


@pytest.mark.parametrize("by", ["feed_ids", "item_ids"])
def test_a_feed_of_which_a_flood_was_sent_is_not_asked_about_again(flooded: Blog, by: str) -> None:
    keys = {"feed_ids": [flooded.feed.pk], "item_ids": Item.objects.held().values_list("pk", flat=True)}
    release(now=at(15), **{by: list(keys[by])})
    flooded.feed.refresh_from_db()
    assert flooded.feed.floods_sent_at == at(15)
    assert again(flooded, 20) == 0
    alter_feed(feed=flooded.feed, hold_floods=False)
    alter_feed(feed=flooded.feed, hold_floods=True)
    assert again(flooded, 30) == 12, "switched off and on again"


def test_an_answer_that_sends_a_part_is_not_remembered(flooded: Blog) -> None:
    keys = list(Item.objects.held().values_list("pk", flat=True))
    release(item_ids=keys[:3], now=at(15))
    exclude_held(item_ids=keys[3:6], now=at(15))
    release(item_ids=keys[6:], now=at(15))
    assert again(flooded, 20) == 12


def test_the_last_answer_is_remembered(flooded: Blog) -> None:
    release(feed_ids=[flooded.feed.pk], now=at(15))
    Feed.objects.update(floods_sent_at=None)
    assert again(flooded, 20) == 12
    Feed.objects.update(floods_sent_at=at(15))
    exclude_held(feed_ids=[flooded.feed.pk], now=at(25))
    assert again(flooded, 30) == 12


def test_what_is_let_go_after_a_restore_is_no_answer_about_floods(watched: Blog) -> None:
    hold_all(now=at(5))
    watched.show("new", "old")
    watched.read(10)
    assert release(feed_ids=[watched.feed.pk], now=at(15)) == 1
    assert again(watched, 20) == 12


def test_another_address_is_asked_about_again(flooded: Blog) -> None:
    release(feed_ids=[flooded.feed.pk], now=at(15))
    alter_feed(feed=flooded.feed, url=flooded.server.url("/other.xml"))
    flooded.path = "/other.xml"
    flooded.show("old")
    flooded.read(20)
    assert again(flooded, 30) == 12


@pytest.mark.parametrize("count", [10, 12])
def test_ten_posts_or_half_are_no_flood(watched: Blog, count: int) -> None:
    watched.show(*FLOODED[:count], *[f"older {n}" for n in range(1, count + 1)])
    Item.objects.bulk_create(
        ItemFactory.build(feed=watched.feed, guid=f"older {n}", state="excluded") for n in range(1, count + 1)
    )
    assert watched.read(10).held == 0


def test_a_feed_that_is_to_hold_nothing_holds_nothing(watched: Blog) -> None:
    Feed.objects.update(hold_floods=False)
    watched.show(*FLOODED, "old")
    assert watched.read(10).held == 0
    assert watched.read(50).final == 12


def test_the_first_reading_holds_nothing_even_when_it_comes_late(blog: Blog) -> None:
    blog.watch(start="all")
    blog.serve("", status=500)
    blog.poll(0)
    blog.show(*FLOODED)
    assert blog.read(500).held == 0


def test_the_first_reading_after_a_change_of_address_holds_nothing(watched: Blog) -> None:
    other = Blog(watched.server, "/moved.xml")
    other.show(*FLOODED, "old")
    other.feed = alter_feed(feed=watched.feed, url=watched.server.url("/moved.xml"))
    result = other.read(10)
    assert (result.held, result.excluded) == (0, 12)


def test_dates_in_the_future_neither_delay_nor_exclude(watched: Blog) -> None:
    watched.show(post("soon", published=at(0) + timedelta(days=400)), "old")
    assert watched.read(10).new == 1
    watched.read(41)
    assert watched.final() == {"soon"}


def test_of_feeds_without_anything_held_nothing_is_decided(db: None) -> None:
    item = ItemFactory()
    assert release(feed_ids=[item.feed_id], now=at(0)) == exclude_held(item_ids=[item.pk], now=at(0)) == 0


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_of_two_answers_at_once_the_first_counts() -> None:
    feed = FeedFactory(held_since=at(0))
    ItemFactory.create_batch(3, feed=feed, held_at=at(0))
    sent, dropped = beside(
        lambda: release(feed_ids=[feed.pk], now=at(1)), lambda: exclude_held(feed_ids=[feed.pk], now=at(1))
    )
    assert (sent, dropped) == (3, 0)
    assert not Item.objects.filter(state="excluded").exists()


@pytest.fixture
def watched_with_excluded(blog: Blog) -> Blog:
    """Read the feed once; `a` is excluded, as it was there before."""
    blog.show("b", post("a", content='<a href="/x">x</a><script>1</script>'))
    blog.watch()
    blog.read(0)
    return blog


def include(blog: Blog, guid: str, minutes: float) -> str:
    return include_item(item_id=blog.item(guid).pk, now=at(minutes))


def test_an_included_post_is_new_again_with_clean_content_and_settles(watched_with_excluded: Blog) -> None:
    assert include(watched_with_excluded, "a", 100) == "“Post a” will be sent once settled."
    item = watched_with_excluded.item("a")
    assert (item.state, item.reason) == ("unassigned", "")
    assert (item.first_seen, item.stable_since, item.final_at) == (at(100), at(100), None)
    assert item.entry is not None
    assert item.entry["content"] == '<a href="https://blog.example.org/x" rel="noopener">x</a>'
    assert watched_with_excluded.read(130).changed == 0
    assert watched_with_excluded.final() == set()
    watched_with_excluded.read(131)
    assert watched_with_excluded.final() == {"a"}


def test_an_included_post_can_still_be_withdrawn(watched_with_excluded: Blog) -> None:
    include(watched_with_excluded, "b", 100)
    watched_with_excluded.show("a")
    assert watched_with_excluded.read(110).vanished == 1


def test_a_post_that_left_the_feed_cannot_be_included(watched_with_excluded: Blog) -> None:
    watched_with_excluded.show("b")
    watched_with_excluded.read(10)
    assert (
        include(watched_with_excluded, "a", 20) == "“Post a” is no longer in the feed, so it can’t be sent."
    )
    assert watched_with_excluded.item("a").state == "excluded"


@pytest.mark.slow
def test_a_post_beyond_what_is_read_in_full_can_be_included(blog: Blog) -> None:
    blog.show(*[f"post {number}" for number in range(600)])
    blog.watch(start="all")
    blog.read(0)
    blog.feed.items.filter(guid="post 300").update(title="Middle")
    beyond = blog.feed.items.filter(state="excluded").first()
    assert beyond is not None
    assert "will be sent" in include_item(item_id=beyond.pk, now=at(10))
    assert blog.item(beyond.guid).title == f"Post {beyond.guid}"


def test_only_what_is_excluded_can_be_included(watched_with_excluded: Blog) -> None:
    watched_with_excluded.show("c", "b")
    watched_with_excluded.read(10)
    assert include(watched_with_excluded, "c", 20) == "“Post c” is not excluded."
    assert watched_with_excluded.item("c").first_seen == at(10)


def test_without_a_kept_document_there_is_nothing_to_send(db: None) -> None:
    item = ItemFactory(state="excluded")
    assert "can’t be sent" in include_item(item_id=item.pk, now=at(0))


def test_a_document_that_was_replaced_meanwhile_is_not_used(
    watched_with_excluded: Blog, monkeypatch: pytest.MonkeyPatch
) -> None:
    from feeds.items import held as including

    look = including.kept_entry

    def then_read(item: Item, document: FeedDocument) -> object:
        entry = look(item, document)
        watched_with_excluded.show("b", post("a", content="<p>Newer.</p>"))
        watched_with_excluded.read(10)
        return entry

    monkeypatch.setattr(including, "kept_entry", then_read)
    assert "Try again" in include(watched_with_excluded, "a", 20)
    monkeypatch.undo()
    include(watched_with_excluded, "a", 20)
    entry = watched_with_excluded.item("a").entry
    assert entry is not None
    assert entry["content"] == "<p>Newer.</p>"


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
