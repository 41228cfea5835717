"""Dropping feeds and newsletters: refused with counts, or forced without losing pending posts."""

import pytest

from delivery.models import Issue, IssueItem
from feeds.models import Feed, Item
from feeds.rules.reposts import LETTERS_ENDED
from subscriptions.collections.assign import (
    DropRefused,
    assign_item,
    delete_dropped_feeds,
    drop_feed,
    drop_subscribable,
)
from subscriptions.models import Assignable, Subscribable, Subscription
from subscriptions.newsletters.define import define_subscribable
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    FeedFactory,
    FinalItemFactory,
    IssueItemFactory,
    ItemFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db


def a_feed(title: str = "Blog", *, posts: int = 0) -> Feed:
    """Return a feed with so many posts in an open collection of one newsletter."""
    feed: Feed = FeedFactory(title=title)
    assignable = AssignableFactory(subscribable=SubscribableFactory(feeds=[feed]))
    for _ in range(posts):
        AssignmentFactory(assignable=assignable, item__feed=feed)
    return feed


def drop(feed: Feed, *, force: bool = False) -> str:
    return drop_feed(feed=feed, force=force, now=NOW)


def test_an_idle_feed_is_deleted_with_its_items_and_what_was_issued_stays() -> None:
    feed = a_feed()
    ItemFactory(feed=feed)
    sent = IssueItemFactory(item__feed=feed)
    assert drop(feed) == "Blog was deleted."
    assert not Item.objects.exists()
    kept = IssueItem.objects.get()
    assert (kept.pk, kept.item, kept.entry["title"]) == (sent.pk, None, sent.entry["title"])


@pytest.mark.parametrize(("posts", "said"), [(1, "1 post of Blog is"), (2, "2 posts of Blog are")])
def test_a_feed_with_posts_on_their_way_is_refused_with_the_count(posts: int, said: str) -> None:
    feed = a_feed(posts=posts)
    with pytest.raises(DropRefused, match=f"^{said} still to be sent. Force it"):
        drop(feed)
    feed.refresh_from_db()
    assert (feed.status, feed.dropping) == ("active", False)


def test_a_post_that_has_settled_and_is_not_yet_assigned_counts_too() -> None:
    feed = a_feed()
    item = FinalItemFactory(feed=feed)
    with pytest.raises(DropRefused, match="1 post"):
        drop(feed)
    assert "its last 1 post went out" in drop(feed, force=True)
    assert delete_dropped_feeds() == 0
    assert assign_item(item_id=item.pk, now=NOW)
    assert delete_dropped_feeds() == 0


def test_forced_it_is_read_no_more_and_goes_once_its_posts_went_out() -> None:
    feed, other = a_feed(posts=2), a_feed("Other", posts=1)
    assert drop(feed, force=True) == ("Blog is no longer read; it is deleted once its last 2 posts went out.")
    feed.refresh_from_db()
    assert (feed.status, feed.dropping) == ("stopped", True)
    assert delete_dropped_feeds() == 0
    Assignable.objects.all().delete()
    Item.objects.update(state="cleared", entry=None)
    assert delete_dropped_feeds() == 1
    assert list(Feed.objects.all()) == [other]


def test_only_the_feeds_own_posts_keep_it() -> None:
    feed = a_feed(posts=1)
    drop(feed, force=True)
    Assignable.objects.all().delete()
    Item.objects.update(state="cleared", entry=None)
    a_feed("Other", posts=1)
    assert delete_dropped_feeds() == 1


@pytest.mark.parametrize(("count", "said"), [(1, "1 subscriber"), (2, "2 subscribers")])
def test_a_newsletter_with_subscribers_is_refused_with_the_count(count: int, said: str) -> None:
    letter = SubscribableFactory(title="Weekly")
    SubscriptionFactory.create_batch(count, subscribable=letter)
    with pytest.raises(DropRefused, match=f"^Weekly has {said}. Force it"):
        drop_subscribable(subscribable=letter, force=False, now=NOW)
    assert drop_subscribable(subscribable=letter, force=True, now=NOW) == f"Weekly was deleted, with {said}."
    assert not Subscribable.objects.exists()
    assert not Subscription.objects.exists()


def test_unconfirmed_subscribers_count_and_those_who_left_do_not() -> None:
    asked, left = UnconfirmedFactory().subscribable, LeftFactory().subscribable
    with pytest.raises(DropRefused):
        drop_subscribable(subscribable=asked, force=False, now=NOW)
    assert drop_subscribable(subscribable=left, force=False, now=NOW) == f"{left} was deleted."


def test_a_dropped_newsletters_items_are_cleared_unless_another_one_needs_them() -> None:
    letter = SubscribableFactory()
    alone = AssignmentFactory(assignable__subscribable=letter).item
    shared = AssignmentFactory(assignable__subscribable=letter).item
    AssignmentFactory(item=shared)
    Issue.objects.create(subscribable=letter, within_type_id="1", token="t", title="T", subject="S")
    drop_subscribable(subscribable=letter, force=True, now=NOW)
    alone.refresh_from_db()
    shared.refresh_from_db()
    assert (alone.state, alone.entry) == ("cleared", None)
    assert (shared.state, shared.entry is None) == ("assigned", False)
    assert not Issue.objects.exists()


class TestAFeedThatIsReadHere:
    def test_it_only_loses_its_letters(self) -> None:
        feed = a_feed()
        Feed.objects.filter(pk=feed.pk).update(read_by=2)
        waiting = ItemFactory(feed=feed)
        assert drop(feed) == "Blog is no longer sent. People read it here, so it isn’t deleted."
        feed.refresh_from_db()
        waiting.refresh_from_db()
        assert (feed.for_letters, feed.status, feed.subscribables.count()) == (False, "active", 0)
        assert (waiting.state, waiting.reason, waiting.entry) == ("excluded", LETTERS_ENDED, None)

    def test_its_last_posts_go_out_first_and_it_is_read_meanwhile(self) -> None:
        feed = a_feed(posts=1)
        Feed.objects.filter(pk=feed.pk).update(read_by=1)
        assert drop(feed, force=True).startswith("Blog is no longer sent once its last 1 post went out.")
        feed.refresh_from_db()
        assert (feed.status, feed.dropping, feed.for_letters) == ("active", True, False)
        assert delete_dropped_feeds() == 0
        Assignable.objects.all().delete()
        Item.objects.update(state="cleared", entry=None)
        assert delete_dropped_feeds() == 1
        feed.refresh_from_db()
        assert (feed.dropping, feed.subscribables.count()) == (False, 0)

    def test_a_newsletter_that_takes_it_has_it_sent_from_then_on(self) -> None:
        feed: Feed = FeedFactory(for_letters=False)
        define_subscribable(name="n", feeds=[feed], channel="email")
        feed.refresh_from_db()
        assert feed.for_letters
