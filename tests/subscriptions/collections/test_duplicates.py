"""A post in several feeds is sent once in each newsletter."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from feeds.items.history import standing
from feeds.models import Feed, Item
from feeds.parsing.identity import link_hash
from feeds.rules.reposts import REPOST
from subscriptions.collections.assign import EXCLUDED_BY_HAND, assign_item, exclude
from subscriptions.models import Assignment, SeenLink, Subscribable
from tests.factories import (
    NOW,
    DailyFactory,
    EveryNFactory,
    FeedFactory,
    FinalItemFactory,
    ItemFactory,
    SubscribableFactory,
)
from tests.races import beside

pytestmark = pytest.mark.django_db
LINK = "f" * 32
ORIGINAL = "https://blog.example/2026/post?a=1&b=2"


@pytest.fixture
def feeds() -> list[Feed]:
    return [FeedFactory(title="Blog"), FeedFactory(title="Mirror"), FeedFactory(title="Planet")]


@pytest.fixture
def letter(feeds: list[Feed]) -> Subscribable:
    made: Subscribable = SubscribableFactory(title="Weekly", feeds=feeds)
    return made


def final(feed: Feed, link_hash: str = LINK) -> Item:
    made: Item = FinalItemFactory(feed=feed, link_hash=link_hash)
    return made


def taken(item: Item) -> set[Subscribable]:
    """Assign the item; return its newsletters."""
    assert assign_item(item_id=item.pk, now=NOW)
    item.refresh_from_db()
    return {assignable.subscribable for assignable in item.assignables.all()}


def test_a_post_that_another_feed_brought_is_not_taken_again(feeds: list[Feed], letter: Subscribable) -> None:
    assert taken(final(feeds[0])) == {letter}
    copy = final(feeds[1])
    assert taken(copy) == set()
    assert (copy.state, copy.entry) == ("cleared", None)
    assert copy.reason == "It is not in “Weekly”, which has had this post from the feed “Blog”."
    assert standing(copy, NOW).endswith(copy.reason)
    assert taken(final(feeds[2])) == set()


@pytest.mark.parametrize("factory", [SubscribableFactory, DailyFactory, EveryNFactory])
def test_each_newsletter_counts_for_itself(
    feeds: list[Feed], letter: Subscribable, factory: type[SubscribableFactory]
) -> None:
    other = factory(feeds=feeds[1:])
    taken(final(feeds[0]))
    copy = final(feeds[1])
    assert taken(copy) == {other}
    assert (copy.state, copy.reason[:20]) == ("assigned", "It is not in “Weekly")
    last = final(feeds[2])
    assert taken(last) == set()
    assert last.reason.count("It is not in") == 2


def test_a_newsletter_of_one_feed_notes_nothing_and_refuses_nothing(feeds: list[Feed]) -> None:
    SubscribableFactory(feeds=feeds[:1])
    SubscribableFactory(feeds=feeds[1:2])
    for feed in feeds[:2]:
        assert len(taken(final(feed))) == 1
    assert not SeenLink.objects.exists()


def test_posts_at_other_links_or_without_one_are_all_taken(feeds: list[Feed], letter: Subscribable) -> None:
    for feed, link in zip(feeds * 2, ("", "", "", "a" * 32, "b" * 32, "c" * 32), strict=True):
        assert taken(final(feed, link)) == {letter}
    assert SeenLink.objects.values("item").distinct().count() == 3


def test_a_link_that_several_posts_of_a_feed_share_says_nothing(
    feeds: list[Feed], letter: Subscribable
) -> None:
    taken(final(feeds[0]))
    ItemFactory(feed=feeds[1], link_hash=LINK, state="cleared")
    assert taken(final(feeds[1])) == {letter}
    assert taken(final(feeds[2])) == set()
    ItemFactory(feed=feeds[0], link_hash=LINK)
    fresh = FeedFactory()
    letter.feeds.add(fresh)
    assert taken(final(fresh)) == {letter}, "where it came from, the link is no post's own any more"


def test_an_earlier_id_of_the_post_does_not_share_its_link(feeds: list[Feed], letter: Subscribable) -> None:
    for feed in feeds:
        ItemFactory(feed=feed, link_hash=LINK, state="excluded", reason=REPOST)
    assert taken(final(feeds[0])) == {letter}
    assert taken(final(feeds[1])) == set()


def test_a_second_post_of_the_same_feed_is_taken(feeds: list[Feed], letter: Subscribable) -> None:
    taken(final(feeds[0]))
    assert taken(final(feeds[0])) == {letter}


def test_a_post_that_was_excluded_by_hand_leaves_its_place_to_a_later_copy(
    feeds: list[Feed], letter: Subscribable
) -> None:
    first = final(feeds[0])
    taken(first)
    assert exclude(item_id=first.pk, reason=EXCLUDED_BY_HAND)
    assert not SeenLink.objects.exists()
    assert taken(final(feeds[1])) == {letter}


def test_a_post_that_one_newsletter_has_sent_is_not_sent_there_again_when_it_is_excluded(
    feeds: list[Feed], letter: Subscribable
) -> None:
    weekly = DailyFactory(feeds=feeds)
    first = final(feeds[0])
    taken(first)
    letter.assignables.all().delete()  # Sent here; in the other newsletter it is still being collected.
    exclude(item_id=first.pk, reason=EXCLUDED_BY_HAND)
    assert taken(final(feeds[1])) == {weekly}


def test_a_post_that_is_taken_back_passes(feeds: list[Feed], letter: Subscribable) -> None:
    first = final(feeds[0])
    taken(first)
    Assignment.objects.all().delete()
    Item.objects.filter(pk=first.pk).update(state="unassigned")
    assert letter in taken(first)


def test_a_feed_that_is_deleted_is_forgotten(feeds: list[Feed], letter: Subscribable) -> None:
    first = final(feeds[0])
    taken(first)
    Assignment.objects.all().delete()
    feeds[0].delete()
    assert taken(final(feeds[1])) == {letter}


def test_a_newsletter_of_one_feed_costs_one_question_more(feeds: list[Feed]) -> None:
    SubscribableFactory(feeds=feeds[:1])

    def questions(item: Item) -> int:
        with CaptureQueriesContext(connection) as caught:
            assign_item(item_id=item.pk, now=NOW)
        return len(caught)

    without = questions(final(feeds[0], ""))
    assert questions(final(feeds[0])) == without + 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_of_two_copies_at_once_one_is_taken(feeds: list[Feed], letter: Subscribable) -> None:
    items = [final(feed) for feed in feeds[:2]]
    first, second = (lambda item=item: assign_item(item_id=item.pk, now=NOW) for item in items)
    assert beside(first, second) == (True, True)
    assert [assignment.item for assignment in Assignment.objects.all()] == items[:1]


@pytest.mark.parametrize(
    "copy",
    [
        "https://www.blog.example/2026/post?a=1&b=2",
        "https://blog.example/2026/post/?a=1&b=2",
        "http://blog.example/2026/post?b=2&a=1",
        "https://blog.example/2026/post?a=1&ref=rss&b=2",
        "https://blog.example/2026/post/amp/?a=1&b=2",
        "https://www.blog.example/2026/post.html?amp=1&b=2&utm_source=x&a=1#more",
    ],
)
def test_a_copy_at_nearly_the_same_link_under_the_same_title_goes_out_once(
    feeds: list[Feed], letter: Subscribable, copy: str
) -> None:
    def at(feed: Feed, link: str, title: str) -> Item:
        made: Item = FinalItemFactory(feed=feed, link=link, link_hash=link_hash(link), title=title)
        return made

    first = at(feeds[0], ORIGINAL, "Low  tide")
    assert taken(first) == {letter}
    again = at(feeds[1], copy, "Low Tide")
    assert taken(again) == set()
    assert "from the feed “Blog”" in again.reason
    assert taken(at(feeds[2], copy, "Low tide")) == set(), "the copy's own link is known, too"
    fresh = FeedFactory()
    letter.feeds.add(fresh)
    assert taken(at(fresh, copy.replace("post", "poster"), "Low tide")) == {letter}


def test_another_title_at_nearly_the_same_link_is_another_post(
    feeds: list[Feed], letter: Subscribable
) -> None:
    for feed, link, title in zip(feeds, ("", "/", "/amp"), ("One", "Two", ""), strict=True):
        link = f"https://blog.example/post{link}"
        assert taken(FinalItemFactory(feed=feed, link=link, link_hash=link_hash(link), title=title)) == {
            letter
        }
