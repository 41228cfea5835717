"""Completing a collection into an issue, in one transaction."""

from datetime import datetime, timedelta

import pytest

from delivery.issues.complete import complete_due
from delivery.models import Delivery, Issue
from feeds.models import Feed, Item
from subscriptions.collections.assign import EXCLUDED_BY_HAND, exclude
from subscriptions.models import Assignable, Assignment
from subscriptions.newsletters.define import alter_subscribable
from tests.delivery.collecting import DAY, HOUR, MIDNIGHT, a_newsletter, collect, item_states, open_collection
from tests.factories import NOW, FeedFactory, ItemFactory

pytestmark = pytest.mark.django_db


def complete(now: datetime = MIDNIGHT) -> int:
    return complete_due(clock=lambda: now)


def test_a_complete_collection_becomes_an_issue_and_is_gone() -> None:
    subscribable = a_newsletter(readers=3)
    items = collect(subscribable, 2)
    collection = open_collection(subscribable)
    assert complete() == 1
    issue = Issue.objects.get()
    assert (issue.within_type_id, issue.period_end) == (collection.within_type_id, MIDNIGHT)
    assert (issue.published_at, issue.created_at) == (MIDNIGHT, MIDNIGHT)
    assert {row.item_id for row in issue.issue_items.all()} == {item.pk for item in items}
    assert Delivery.objects.filter(issue=issue, state="queued").count() == 3
    assert (Assignable.objects.count(), Assignment.objects.count()) == (0, 0)
    assert item_states(items) == {"cleared"}
    assert set(Item.objects.values_list("entry", flat=True)) == {None}
    subscribable.refresh_from_db()
    assert subscribable.last_completed_wti == issue.within_type_id
    assert complete() == 0


def test_the_posts_stand_in_the_issue_as_they_were_newest_first() -> None:
    subscribable = a_newsletter()
    items = collect(subscribable, 3)
    complete()
    rows = Issue.objects.get().issue_items.order_by("position")
    assert [row.entry["title"] for row in rows] == [item.title for item in reversed(items)]


def test_a_period_is_not_issued_before_its_end() -> None:
    collect(a_newsletter())
    assert complete(MIDNIGHT - timedelta(seconds=1)) == 0
    assert complete(MIDNIGHT) == 1


def test_nothing_new_is_nothing_sent() -> None:
    subscribable = a_newsletter()
    items = collect(subscribable)
    assert exclude(item_id=items[0].pk, reason=EXCLUDED_BY_HAND)
    for hours in range(0, 72, 6):
        assert complete(MIDNIGHT + hours * HOUR) == 0
    assert Issue.objects.count() == 0


def test_a_collection_that_was_emptied_otherwise_is_never_issued() -> None:
    collect(a_newsletter())
    Assignment.objects.all().delete()
    assert complete(MIDNIGHT + 30 * DAY) == 0


def test_it_waits_for_a_feed_that_was_not_read_yet_until_the_grace_is_over() -> None:
    feed = FeedFactory(fetched_through=MIDNIGHT - HOUR)
    subscribable = a_newsletter(feeds=[feed], grace_minutes=90)
    collect(subscribable)
    assert complete(MIDNIGHT + timedelta(minutes=89)) == 0
    assert complete(MIDNIGHT + timedelta(minutes=90)) == 1


def test_a_feed_it_waits_for_is_made_due_at_once() -> None:
    feed = FeedFactory(fetched_through=MIDNIGHT - HOUR, next_poll_at=MIDNIGHT + HOUR)
    collect(a_newsletter(feeds=[feed]))
    complete()
    feed.refresh_from_db()
    assert feed.next_poll_at == MIDNIGHT


@pytest.mark.parametrize("status", [Feed.Status.STOPPED, Feed.Status.PAUSED])
def test_a_feed_that_is_not_read_any_more_is_not_waited_for(status: str) -> None:
    read, dead = FeedFactory(fetched_through=MIDNIGHT), FeedFactory(fetched_through=None, status=status)
    collect(a_newsletter(feeds=[read, dead]))
    assert complete() == 1


def test_a_post_that_is_final_but_not_assigned_is_waited_for() -> None:
    subscribable = a_newsletter()
    (item,) = collect(subscribable)
    late = ItemFactory(feed=item.feed, final_at=MIDNIGHT - HOUR)
    assert complete() == 0
    late.delete()
    assert complete() == 1


def test_each_post_is_an_issue_of_its_own_at_once() -> None:
    subscribable = a_newsletter("each")
    items = collect(subscribable, 3)
    assert complete(NOW) == 3
    assert set(Issue.objects.values_list("within_type_id", flat=True)) == {str(item.pk) for item in items}


def test_every_n_waits_for_n_and_counts_on() -> None:
    subscribable = a_newsletter("every_n", n=3)
    collect(subscribable, 2)
    assert complete(NOW) == 0
    collect(subscribable, 5)
    assert complete(NOW) == 2
    assert list(Issue.objects.order_by("pk").values_list("within_type_id", flat=True)) == ["#1", "#2"]
    assert [issue.issue_items.count() for issue in Issue.objects.all()] == [3, 3]
    assert open_collection(subscribable).within_type_id == "#3"


def test_every_n_sends_a_shorter_letter_after_the_longest_wait() -> None:
    subscribable = a_newsletter("every_n", n=3, max_wait_days=7)
    collect(subscribable, 1)
    assert complete(NOW + 7 * DAY - HOUR) == 0
    assert complete(NOW + 7 * DAY) == 1
    collect(subscribable, 3, now=NOW + 8 * DAY)
    assert complete(NOW + 8 * DAY) == 1
    assert [issue.issue_items.count() for issue in Issue.objects.order_by("pk")] == [1, 3]


def test_after_lowering_n_the_open_collection_keeps_its_own() -> None:
    subscribable = a_newsletter("every_n", n=4)
    collect(subscribable, 3)
    alter_subscribable(subscribable=subscribable, n=2)
    assert complete(NOW) == 0
    collect(subscribable, 3)
    assert complete(NOW) == 2
    assert [issue.issue_items.count() for issue in Issue.objects.order_by("pk")] == [4, 2]


def test_an_edited_arrangement_leaves_the_open_collection_its_end() -> None:
    subscribable = a_newsletter("daily")
    collect(subscribable)
    alter_subscribable(subscribable=subscribable, arrangement="monthly")
    collect(subscribable)
    assert complete(MIDNIGHT) == 1
    month = open_collection(subscribable)
    assert month.period_end == datetime(2026, 4, 1, tzinfo=NOW.tzinfo)
    assert complete(MIDNIGHT + 5 * DAY) == 0


def test_a_post_of_two_newsletters_is_cleared_by_the_second() -> None:
    feed = FeedFactory(fetched_through=MIDNIGHT)
    one = a_newsletter("daily", feeds=[feed])
    a_newsletter("each", feeds=[feed])
    items = collect(one)
    assert complete(NOW) == 1
    assert item_states(items) == {"assigned"}
    assert complete(MIDNIGHT) == 1
    assert item_states(items) == {"cleared"}
    assert Issue.objects.count() == 2


def test_a_stopped_newsletter_still_sends_what_it_has() -> None:
    subscribable = a_newsletter("every_n", n=5)
    collect(subscribable, 2)
    alter_subscribable(subscribable=subscribable, stopped=True)
    assert complete(NOW) == 1


def test_issues_of_one_pass_are_queued_in_their_order() -> None:
    collect(a_newsletter("each"), 3)
    order = list(Assignable.objects.order_by("pk").values_list("within_type_id", flat=True))
    assert complete() == 3
    queued = Delivery.objects.order_by("pk").values_list("issue__within_type_id", flat=True)
    assert list(queued) == [name for name in order for _ in range(2)]
