"""The conditions that an open collection waits for, and earlier polls of its feeds."""

from datetime import timedelta
from typing import Any

import pytest

from feeds.models import Feed
from subscriptions.collections.readiness import collection_facts, feed_facts, make_feeds_due
from subscriptions.models import Assignable
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DailyFactory,
    EveryNFactory,
    FeedFactory,
    FinalItemFactory,
)

pytestmark = pytest.mark.django_db

END = NOW - timedelta(minutes=1)
DAY = timedelta(days=1)


def a_feed(**facts: Any) -> Feed:
    """Return a feed that is next read in an hour."""
    made: Feed = FeedFactory(next_poll_at=NOW + timedelta(hours=1), **facts)
    return made


def collecting(*feeds: Feed, end: Any = END) -> Assignable:
    made: Assignable = AssignableFactory(
        subscribable=DailyFactory(feeds=feeds), period_start=end - DAY, period_end=end
    )
    return made


@pytest.mark.parametrize("fetched_through", [None, END - timedelta(seconds=1)])
def test_a_feed_that_a_closed_period_waits_for_is_hurried_once(fetched_through: Any) -> None:
    feed = a_feed(fetched_through=fetched_through)
    collecting(feed)
    assert make_feeds_due(now=NOW) == 1
    assert make_feeds_due(now=NOW) == 0
    feed.refresh_from_db()
    assert feed.next_poll_at == NOW


def test_a_feed_in_two_newsletters_is_hurried_once() -> None:
    feed = a_feed()
    collecting(feed)
    collecting(feed)
    assert make_feeds_due(now=NOW) == 1


def test_a_feed_read_since_the_end_is_left_in_peace_although_a_longer_period_is_open() -> None:
    feed, slow = a_feed(fetched_through=END), a_feed(fetched_through=END - DAY, failures=1, failing_since=END)
    collecting(feed, slow)
    collecting(feed, end=NOW + DAY)
    assert make_feeds_due(now=NOW) == 0


def test_a_period_that_is_not_over_hurries_nobody() -> None:
    collecting(a_feed(), end=NOW + DAY)
    AssignableFactory(subscribable=EveryNFactory(feeds=[a_feed()]))
    assert make_feeds_due(now=NOW) == 0


def test_facts_of_feeds_are_about_the_end_of_the_period() -> None:
    behind, owing, paused = a_feed(), a_feed(fetched_through=NOW), a_feed(status="paused")
    assignable = collecting(behind, owing, paused)
    FinalItemFactory(feed=owing, final_at=END - timedelta(seconds=1))
    FinalItemFactory(feed=behind, final_at=END)
    FinalItemFactory(feed=behind, final_at=END - DAY, state="assigned")
    facts = {fact.title: fact for fact in feed_facts(assignable)}
    assert not facts[behind.title].unassigned_before_end
    assert facts[behind.title].fetched_through is None
    assert facts[owing.title].unassigned_before_end
    assert [facts[feed.title].waited_for for feed in (behind, owing, paused)] == [True, True, False]


def test_a_collection_without_a_period_asks_no_feeds() -> None:
    assert feed_facts(AssignableFactory()) == []


def test_facts_of_a_collection_are_those_it_was_opened_with() -> None:
    letter = EveryNFactory(n=5, max_wait_days=3, grace_minutes=30)
    assignable = AssignableFactory(subscribable=letter, capacity=2)
    AssignmentFactory(assignable=assignable)
    facts = collection_facts(assignable)
    assert (facts.count, facts.capacity, facts.max_wait_days) == (1, 2, 3)
    assert (facts.grace, facts.takes_more) == (timedelta(minutes=30), True)
    letter.stopped = True
    assert not collection_facts(assignable).takes_more
