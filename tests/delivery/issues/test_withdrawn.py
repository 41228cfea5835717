"""A post that its feed withdraws while collected is set aside, and restored when it reappears."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from delivery.issues.complete import Completed, _sealed, complete_due, store_issues
from delivery.issues.contents import Collected
from delivery.issues.contents import collected as contents_of
from delivery.issues.item_fate import fate_of
from delivery.models import Issue
from feeds.models import Feed, Item
from feeds.parsing.entry import Entry, ParsedFeed
from feeds.polling.read import Reading
from feeds.polling.store import store
from subscriptions.collections.assign import assign_final, assign_item
from subscriptions.collections.edits import send_withdrawn
from subscriptions.models import Assignable, LeftOut, Subscribable
from subscriptions.rules.edits import CannotEdit
from tests.delivery.engine.test_races import RENDERED, a_reading_without
from tests.factories import (
    NOW,
    DailyFactory,
    FeedFactory,
    FinalItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
)
from tests.feeds.watched import Blog, at
from tests.races import beside
from tests.servers.feed_server import FeedServer

pytestmark = pytest.mark.django_db
# The daily period ends at midnight, twelve hours after the feed was added.
MIDNIGHT = 12 * 60
DAY = timedelta(days=1)


@pytest.fixture
def blog(loopback_allowed: None, db: None) -> Iterator[Blog]:
    with FeedServer() as server:
        yield Blog(server)


def newsletter(blog: Blog, **changes: Any) -> Subscribable:
    made: Subscribable = SubscribableFactory(
        feeds=[blog.feed], **{"arrangement": "daily", "time_zone": "UTC", **changes}
    )
    SubscriptionFactory(subscribable=made)
    return made


@pytest.fixture
def collected(blog: Blog) -> Blog:
    """Put posts `a` and `b`, which have settled, into the open collection of a daily newsletter."""
    blog.show("old")
    blog.watch()
    newsletter(blog)
    blog.read(0)
    blog.show("b", "a", "old")
    blog.read(10)
    blog.read(41)
    assert assign_final(clock=lambda: at(42)) == 2
    return blog


def read(blog: Blog, minutes: float, *posts: str) -> int:
    """Read the feed with these posts; return how many posts it withdrew."""
    blog.show(*posts)
    return blog.read(minutes).vanished


def complete(blog: Blog, minutes: float = MIDNIGHT + 1) -> list[list[str]]:
    """Read the feed, complete what is over, and return the posts of all issues."""
    blog.read(minutes)
    assign_final(clock=lambda: at(minutes))
    complete_due(clock=lambda: at(minutes))
    return titles()


def titles() -> list[list[str]]:
    return [
        [row.entry["title"] for row in issue.issue_items.order_by("position")]
        for issue in Issue.objects.order_by("pk")
    ]


def fate(blog: Blog, guid: str, minutes: float) -> str:
    return fate_of(blog.item(guid), at(minutes))


def test_a_post_withdrawn_while_it_is_collected_is_not_sent(collected: Blog) -> None:
    assert read(collected, 60, "a", "old") == 1
    item = collected.item("b")
    assert (item.state, item.set_aside_at, item.vanished_at) == ("assigned", at(60), None)
    assert "its feed removed it since, so it is sent only if it reappears" in fate(collected, "b", 61)
    assert complete(collected) == [["Post a"]]
    assert "Post b" not in Issue.objects.get().subject
    assert "removed from the feed before its issue was sent" in fate(collected, "b", 721)
    assert not LeftOut.objects.exists()
    assert "Sent" not in fate(collected, "b", 721)


def test_it_comes_back_with_the_post(collected: Blog) -> None:
    read(collected, 60, "a", "old")
    assert read(collected, 70, "b", "a", "old") == 0
    assert collected.item("b").set_aside_at is None
    assert complete(collected) == [["Post b", "Post a"]]


def test_what_is_back_after_its_issue_is_new_again(collected: Blog) -> None:
    read(collected, 60, "a", "old")
    complete(collected)
    for minutes in (MIDNIGHT + 60, MIDNIGHT + 100):
        read(collected, minutes, "b", "a", "old")
    assert complete(collected, 3 * MIDNIGHT + 1) == [["Post a"], ["Post b"]]
    assert complete(collected, 5 * MIDNIGHT + 1) == [["Post a"], ["Post b"]]


def test_what_rolls_off_or_is_missing_from_an_empty_document_is_sent(collected: Blog) -> None:
    assert read(collected, 60) == 0
    assert read(collected, 70, "c", "b") == 0
    collected.read(110)
    assert complete(collected) == [["Post c", "Post b", "Post a"]]


def test_another_s_post_that_settled_at_first_sight_is_set_aside_when_the_feed_is_back(blog: Blog) -> None:
    blog.show("c", "b", "a")
    blog.watch(min_delay_minutes=0, await_stabilization_minutes=0, max_delay_minutes=0, hold_floods=False)
    newsletter(blog)
    blog.read(0)
    read(blog, 10, "ad", "c", "b", "a")
    assign_final(clock=lambda: at(11))
    read(blog, 20, "spam")
    assign_final(clock=lambda: at(21))
    assert read(blog, 30, "ad", "c", "b", "a") == 1
    assert complete(blog) == [["Post ad"]]


def test_a_collection_of_withdrawn_posts_alone_ends_without_an_issue(collected: Blog) -> None:
    read(collected, 60, "old")
    assert complete(collected) == []
    assert not Assignable.objects.exists()
    assert collected.states() == {"old": "excluded", "a": "unassigned", "b": "unassigned"}


def test_every_n_waits_for_another_post(blog: Blog) -> None:
    blog.show("old")
    blog.watch()
    newsletter(blog, arrangement="every_n", n=2)
    blog.read(0)
    read(blog, 10, "a", "old")
    blog.read(41)
    assign_final(clock=lambda: at(42))
    read(blog, 50, "old")
    read(blog, 60, "b", "old")
    assert complete(blog, 100) == []
    read(blog, 110, "c", "b", "old")
    assert complete(blog, 150) == [["Post c", "Post b"]]


def test_where_each_post_is_an_issue_it_goes_as_it_was_taken_in(collected: Blog) -> None:
    newsletter(collected, arrangement="each")
    read(collected, 50, "c", "b", "a", "old")
    collected.read(90)
    assign_final(clock=lambda: at(90))
    read(collected, 95, "b", "a", "old")
    complete_due(clock=lambda: at(95))
    assert titles() == [["Post c"]]
    assert complete(collected) == [["Post c"], ["Post b", "Post a"]]
    item = collected.item("c")
    assert (item.state, item.set_aside_at) == ("cleared", None)
    assert "left out of" in fate(collected, "c", 800)
    assert "its feed had withdrawn it" in fate(collected, "c", 800)
    read(collected, 810, "c", "b", "a", "old")
    assert complete(collected, 3 * MIDNIGHT + 1) == [["Post c"], ["Post b", "Post a"]], (
        "once sent, never again"
    )


def test_a_sealed_collection_is_sent_as_it_was(collected: Blog) -> None:
    collection = Assignable.objects.get()
    Assignable.objects.update(seal_token="0" * 32, seal_until=at(MIDNIGHT + 90))
    read(collected, 60, "a", "old")
    with pytest.raises(CannotEdit):
        send_withdrawn(assignable_id=collection.pk, item_id=collected.item("b").pk, now=at(61))


def test_one_click_sends_it_all_the_same(collected: Blog, admin_client: Client) -> None:
    read(collected, 60, "a", "old")
    collection, item = Assignable.objects.get(), collected.item("b")
    page = admin_client.get(reverse("admin:subscriptions_assignable_change", args=[collection.pk]))
    assert "Removed from its feed on" in page.text
    assert "sent only if it reappears" in page.text
    url = reverse("admin:delivery_next_issue_edit", args=[collection.pk])
    assert (
        "sent with the others" in admin_client.post(url, {"do": "anyway", "post": item.pk}, follow=True).text
    )
    read(collected, 80, "a", "old")
    assert collected.item("b").set_aside_at is None
    assert complete(collected) == [["Post b", "Post a"]]


def test_it_is_set_aside_again_when_it_was_back_and_is_withdrawn_again(collected: Blog) -> None:
    read(collected, 60, "a", "old")
    collection, item = Assignable.objects.get(), collected.item("b")
    send_withdrawn(assignable_id=collection.pk, item_id=item.pk, now=at(65))
    read(collected, 70, "b", "a", "old")
    assert read(collected, 80, "a", "old") == 1
    assert complete(collected) == [["Post a"]]


def held(contents: Collected) -> int:
    return len(contents.posts)


def test_nothing_more_is_asked_when_nothing_is_missing(collected: Blog) -> None:
    """A reading queries posts in collections only if a post of the last document has disappeared."""

    def asked(minutes: float, *posts: str) -> list[str]:
        collected.show(*posts, title=f"At {minutes}")
        with CaptureQueriesContext(connection) as queries:
            collected.read(minutes)
        return [one["sql"] for one in queries if "'assigned'" in one["sql"] and "guid_hash" in one["sql"]]

    assert asked(50, "b", "a", "old") == []
    assert asked(60, "b", "a") == [], "it rolled off"
    assert len(asked(70, "a")) == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
class TestTwoConnections:
    """Setting a post aside, or sending it anyway, beside the sealing of its collection."""

    @pytest.fixture
    def item(self) -> Item:
        """Return an item in an open, ended collection, of a feed that has an older post."""
        feed = FeedFactory(first_polled_at=NOW - DAY, fetched_through=NOW + 2 * DAY)
        DailyFactory(feeds=[feed])
        item: Item = FinalItemFactory(feed=feed)
        older = Entry(guid="older", title="Older")
        both = ParsedFeed(title="Blog", guids=(item.guid, "older"), entries=(older,))
        with transaction.atomic():
            store(feed, Reading(b"", "1" * 64, {}, "http://b/", NOW, both))
        assign_item(item_id=item.pk, now=NOW)
        return item

    @staticmethod
    def poll(item: Item) -> int:
        """Read the feed without the post; return how many posts are set aside."""
        with transaction.atomic():
            feed = Feed.objects.select_for_update().get(pk=item.feed_id)
            return len(store(feed, a_reading_without(item, NOW + DAY)).set_aside)

    @staticmethod
    def seal() -> Collected:
        """Seal the collection, and return its contents."""
        with transaction.atomic():
            ((collection, rows, _),) = _sealed([Assignable.objects.get().pk], NOW + 2 * DAY)
        return contents_of(collection, rows)

    def test_a_seal_beside_a_reading_holds_the_post_and_the_reading_sets_it_aside_too_late(
        self, item: Item
    ) -> None:
        contents, aside = beside(self.seal, lambda: self.poll(item), blocks=False)
        assert (held(contents), aside) == (1, 1)
        collection = Assignable.objects.get()
        with transaction.atomic():
            store_issues([Completed(contents, RENDERED, collection.seal_token)], now=NOW + 2 * DAY)
        item.refresh_from_db()
        assert (item.state, item.set_aside_at, item.issue_items.count()) == ("cleared", None, 1)

    def test_a_reading_that_has_not_committed_is_later_than_the_seal_beside_it(self, item: Item) -> None:
        aside, contents = beside(lambda: self.poll(item), self.seal, blocks=False)
        assert (aside, held(contents)) == (1, 1)

    @pytest.mark.usefixtures("commits")
    def test_a_reading_that_has_committed_is_seen_by_the_seal(self, item: Item) -> None:
        assert self.poll(item) == 1
        assert held(self.seal()) == 0

    def test_the_end_of_a_collection_waits_for_a_reading_that_takes_its_post_back(self, item: Item) -> None:
        """The post settled before: it goes into the next collection, and is not lost."""
        self.poll(item)
        collection = Assignable.objects.get()
        Assignable.objects.update(seal_token=uuid4(), seal_until=NOW + 3 * DAY)
        collection.refresh_from_db()
        contents = contents_of(collection)
        assert [post.item_id for post in contents.withdrawn] == [item.pk]

        def take_back() -> int:
            return Item.objects.filter(pk=item.pk).update(set_aside_at=None)

        def end() -> None:
            assert collection.seal_token is not None
            with transaction.atomic():
                store_issues([Completed(contents, None, collection.seal_token)], now=NOW)

        beside(take_back, end)
        item.refresh_from_db()
        assert (item.state, item.vanished_at, item.set_aside_at) == ("unassigned", None, None)
        assert assign_item(item_id=item.pk, now=NOW + 2 * DAY)

    def test_sending_it_all_the_same_beside_the_seal_waits_and_is_refused(self, item: Item) -> None:
        self.poll(item)
        pk = Assignable.objects.get().pk

        def anyway() -> Any:
            try:
                return send_withdrawn(assignable_id=pk, item_id=item.pk, now=NOW)
            except CannotEdit as error:
                return error

        sealed, refused = beside(self.seal, anyway)
        assert held(sealed) == 0
        assert isinstance(refused, CannotEdit)

    def test_the_seal_beside_sending_it_all_the_same_waits_and_holds_it(self, item: Item) -> None:
        self.poll(item)
        pk = Assignable.objects.get().pk
        _, sealed = beside(lambda: send_withdrawn(assignable_id=pk, item_id=item.pk, now=NOW), self.seal)
        assert held(sealed) == 1
