"""Completing a collection into an issue, in one transaction.

A collection that cannot become an issue records its error and backs off; others go out.
"""

import uuid
from datetime import datetime, timedelta
from unittest import mock

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from delivery.issues import complete
from delivery.issues.complete import (
    CollectionChanged,
    Completed,
    _put_off,
    _sealed,
    complete_collection,
    complete_due,
    store_issues,
)
from delivery.issues.contents import Collected, collected
from delivery.issues.publish import queue_for_all
from delivery.models import Delivery, Issue
from delivery.rendering.errors import Rendered
from feeds.models import Feed, Item
from subscriptions.collections.assign import EXCLUDED_BY_HAND, exclude
from subscriptions.models import Assignable, Assignment, Subscribable
from subscriptions.newsletters.define import alter_subscribable
from tests.delivery.collecting import DAY, HOUR, MIDNIGHT, a_newsletter, collect, item_states, open_collection
from tests.factories import NOW, AssignmentFactory, FeedFactory, FinalItemFactory, IssueFactory, ItemFactory

RENDERED = Rendered(title="Title", subject="Subject", html="<p>Html</p>", text="Text", placeholders={})
MINUTE = timedelta(minutes=1)
pytestmark = pytest.mark.django_db


def complete_collections(now: datetime = MIDNIGHT) -> int:
    return complete_due(clock=lambda: now)


def test_a_complete_collection_becomes_an_issue_and_is_gone() -> None:
    subscribable = a_newsletter(readers=3)
    items = collect(subscribable, 2)
    collection = open_collection(subscribable)
    assert complete_collections() == 1
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
    assert complete_collections() == 0


def test_the_posts_stand_in_the_issue_as_they_were_newest_first() -> None:
    subscribable = a_newsletter()
    items = collect(subscribable, 3)
    complete_collections()
    rows = Issue.objects.get().issue_items.order_by("position")
    assert [row.entry["title"] for row in rows] == [item.title for item in reversed(items)]


def test_a_period_is_not_issued_before_its_end() -> None:
    collect(a_newsletter())
    assert complete_collections(MIDNIGHT - timedelta(seconds=1)) == 0
    assert complete_collections(MIDNIGHT) == 1


def test_nothing_new_is_nothing_sent() -> None:
    subscribable = a_newsletter()
    items = collect(subscribable)
    assert exclude(item_id=items[0].pk, reason=EXCLUDED_BY_HAND)
    for hours in range(0, 72, 6):
        assert complete_collections(MIDNIGHT + hours * HOUR) == 0
    assert Issue.objects.count() == 0


def test_a_collection_that_was_emptied_otherwise_is_never_issued() -> None:
    collect(a_newsletter())
    Assignment.objects.all().delete()
    assert complete_collections(MIDNIGHT + 30 * DAY) == 0


def test_it_waits_for_a_feed_that_was_not_read_yet_until_the_grace_is_over() -> None:
    feed = FeedFactory(fetched_through=MIDNIGHT - HOUR)
    subscribable = a_newsletter(feeds=[feed], grace_minutes=90)
    collect(subscribable)
    assert complete_collections(MIDNIGHT + timedelta(minutes=89)) == 0
    assert complete_collections(MIDNIGHT + timedelta(minutes=90)) == 1


def test_a_feed_it_waits_for_is_made_due_at_once() -> None:
    feed = FeedFactory(fetched_through=MIDNIGHT - HOUR, next_poll_at=MIDNIGHT + HOUR)
    collect(a_newsletter(feeds=[feed]))
    complete_collections()
    feed.refresh_from_db()
    assert feed.next_poll_at == MIDNIGHT


@pytest.mark.parametrize("status", [Feed.Status.STOPPED, Feed.Status.PAUSED])
def test_a_feed_that_is_not_read_any_more_is_not_waited_for(status: str) -> None:
    read, dead = FeedFactory(fetched_through=MIDNIGHT), FeedFactory(fetched_through=None, status=status)
    collect(a_newsletter(feeds=[read, dead]))
    assert complete_collections() == 1


def test_a_post_that_is_final_but_not_assigned_is_waited_for() -> None:
    subscribable = a_newsletter()
    (item,) = collect(subscribable)
    late = ItemFactory(feed=item.feed, final_at=MIDNIGHT - HOUR)
    assert complete_collections() == 0
    late.delete()
    assert complete_collections() == 1


def test_each_post_is_an_issue_of_its_own_at_once() -> None:
    subscribable = a_newsletter("each")
    items = collect(subscribable, 3)
    assert complete_collections(NOW) == 3
    assert set(Issue.objects.values_list("within_type_id", flat=True)) == {str(item.pk) for item in items}


def test_every_n_waits_for_n_and_counts_on() -> None:
    subscribable = a_newsletter("every_n", n=3)
    collect(subscribable, 2)
    assert complete_collections(NOW) == 0
    collect(subscribable, 5)
    assert complete_collections(NOW) == 2
    assert list(Issue.objects.order_by("pk").values_list("within_type_id", flat=True)) == ["#1", "#2"]
    assert [issue.issue_items.count() for issue in Issue.objects.all()] == [3, 3]
    assert open_collection(subscribable).within_type_id == "#3"


def test_every_n_sends_a_shorter_letter_after_the_longest_wait() -> None:
    subscribable = a_newsletter("every_n", n=3, max_wait_days=7)
    collect(subscribable, 1)
    assert complete_collections(NOW + 7 * DAY - HOUR) == 0
    assert complete_collections(NOW + 7 * DAY) == 1
    collect(subscribable, 3, now=NOW + 8 * DAY)
    assert complete_collections(NOW + 8 * DAY) == 1
    assert [issue.issue_items.count() for issue in Issue.objects.order_by("pk")] == [1, 3]


def test_after_lowering_n_the_open_collection_keeps_its_own() -> None:
    subscribable = a_newsletter("every_n", n=4)
    collect(subscribable, 3)
    alter_subscribable(subscribable=subscribable, n=2)
    assert complete_collections(NOW) == 0
    collect(subscribable, 3)
    assert complete_collections(NOW) == 2
    assert [issue.issue_items.count() for issue in Issue.objects.order_by("pk")] == [4, 2]


def test_an_edited_arrangement_leaves_the_open_collection_its_end() -> None:
    subscribable = a_newsletter("daily")
    collect(subscribable)
    alter_subscribable(subscribable=subscribable, arrangement="monthly")
    collect(subscribable)
    assert complete_collections(MIDNIGHT) == 1
    month = open_collection(subscribable)
    assert month.period_end == datetime(2026, 4, 1, tzinfo=NOW.tzinfo)
    assert complete_collections(MIDNIGHT + 5 * DAY) == 0


def test_a_post_of_two_newsletters_is_cleared_by_the_second() -> None:
    feed = FeedFactory(fetched_through=MIDNIGHT)
    one = a_newsletter("daily", feeds=[feed])
    a_newsletter("each", feeds=[feed])
    items = collect(one)
    assert complete_collections(NOW) == 1
    assert item_states(items) == {"assigned"}
    assert complete_collections(MIDNIGHT) == 1
    assert item_states(items) == {"cleared"}
    assert Issue.objects.count() == 2


def test_a_stopped_newsletter_still_sends_what_it_has() -> None:
    subscribable = a_newsletter("every_n", n=5)
    collect(subscribable, 2)
    alter_subscribable(subscribable=subscribable, stopped=True)
    assert complete_collections(NOW) == 1


def test_issues_of_one_pass_are_queued_in_their_order() -> None:
    collect(a_newsletter("each"), 3)
    order = list(Assignable.objects.order_by("pk").values_list("within_type_id", flat=True))
    assert complete_collections() == 3
    queued = Delivery.objects.order_by("pk").values_list("issue__within_type_id", flat=True)
    assert list(queued) == [name for name in order for _ in range(2)]


def run(now: datetime = MIDNIGHT) -> int:
    return complete_due(clock=lambda: now)


def a_broken_newsletter() -> Subscribable:
    subscribable = a_newsletter()
    Subscribable.objects.filter(pk=subscribable.pk).update(template="was-deleted")
    return subscribable


def test_a_failure_is_recorded_and_backed_off_and_nothing_is_lost() -> None:
    items = collect(a_broken_newsletter())
    assert run() == 0
    collection = Assignable.objects.get()
    assert collection.failures == 1
    assert "was-deleted" in collection.last_error
    assert (
        MIDNIGHT + 54 * timedelta(seconds=1) <= collection.next_try_at <= MIDNIGHT + 66 * timedelta(seconds=1)
    )
    assert (collection.seal_token, collection.seal_until) == (None, None)
    assert item_states(items) == {"assigned"}
    assert (Issue.objects.count(), Delivery.objects.count()) == (0, 0)


def test_it_is_tried_again_later_and_later_and_goes_out_once_it_can() -> None:
    subscribable = a_broken_newsletter()
    collect(subscribable)
    now, waits = MIDNIGHT, []
    for _ in range(4):
        run(now)
        next_try = Assignable.objects.get().next_try_at
        assert run(next_try - timedelta(seconds=1)) == 0
        waits.append(next_try - now)
        now = next_try
    assert Assignable.objects.get().failures == 4
    assert waits == sorted(waits)
    Subscribable.objects.update(template="")
    assert run(now) == 1


def test_one_that_fails_harms_no_other() -> None:
    collect(a_broken_newsletter())
    good = a_newsletter()
    collect(good)
    assert run() == 1
    assert Issue.objects.get().subscribable == good


def test_one_whose_content_cannot_be_read_harms_no_other_either() -> None:
    items = collect(a_newsletter())
    collect(a_newsletter())
    Item.objects.filter(pk=items[0].pk).update(entry={"no": "entry"})
    assert run() == 1
    assert Assignable.objects.get().failures == 1


def test_an_error_that_holds_what_no_database_takes_is_recorded_all_the_same() -> None:
    collect(a_newsletter())
    collection = Assignable.objects.get()
    _put_off(collection.pk, None, ValueError("a \x00 in it \ud800"), NOW)
    collection.refresh_from_db()
    assert collection.last_error == "ValueError: a  in it "


def sealed(subscribable: Subscribable) -> tuple[Assignable, uuid.UUID]:
    ((collection, _, _),) = _sealed([open_collection(subscribable).pk], MIDNIGHT)
    assert collection.seal_token is not None
    return collection, collection.seal_token


def stored(token: uuid.UUID, contents: Collected) -> Issue:
    with transaction.atomic():
        store_issues([Completed(contents, RENDERED, token)], now=MIDNIGHT)
    issue: Issue = Issue.objects.get()
    return issue


def test_between_seal_and_store_nothing_can_be_taken_out() -> None:
    subscribable = a_newsletter()
    items = collect(subscribable, 2)
    collection, token = sealed(subscribable)
    contents = collected(collection)
    assert not exclude(item_id=items[0].pk, reason=EXCLUDED_BY_HAND)
    issue = stored(token, contents)
    assert issue.issue_items.count() == 2
    assert item_states(items) == {"cleared"}


def test_between_seal_and_store_nothing_can_join_and_what_comes_goes_into_the_next() -> None:
    subscribable = a_newsletter()
    collect(subscribable)
    collection, token = sealed(subscribable)
    contents = collected(collection)
    late = FinalItemFactory(feed=subscribable.feeds.get(), final_at=MIDNIGHT - HOUR)
    collect(subscribable, 0, now=MIDNIGHT)
    assert collection.assignments.count() == 1
    stored(token, contents)
    assert [row.item_id for row in Assignment.objects.all()] == [late.pk]
    assert open_collection(subscribable).period_end == MIDNIGHT + timedelta(days=1)


def test_a_collection_that_holds_another_post_than_was_rendered_is_not_stored() -> None:
    """It cannot happen; if it did, the post would be cleared unsent."""
    subscribable = a_newsletter()
    collect(subscribable)
    collection, token = sealed(subscribable)
    contents = collected(collection)
    AssignmentFactory(assignable=collection)
    with pytest.raises(CollectionChanged):
        stored(token, contents)
    assert (Issue.objects.count(), Assignment.objects.count()) == (0, 2)


def test_who_lost_the_seal_stores_nothing() -> None:
    subscribable = a_newsletter()
    collect(subscribable)
    collection, _ = sealed(subscribable)
    with pytest.raises(CollectionChanged):
        stored(uuid.uuid4(), collected(collection))
    assert Issue.objects.count() == 0


def test_a_worker_that_died_while_rendering_holds_it_up_for_two_minutes_only() -> None:
    subscribable = a_newsletter()
    collect(subscribable)
    sealed(subscribable)
    assert run(MIDNIGHT + MINUTE) == 0
    assert run(MIDNIGHT + 3 * MINUTE) == 1


def test_no_period_is_issued_twice() -> None:
    subscribable = a_newsletter()
    collect(subscribable)
    wti = open_collection(subscribable).within_type_id
    IssueFactory(subscribable=subscribable, within_type_id=wti)
    assert run() == 0
    assert Issue.objects.count() == 1
    assert open_collection(subscribable).failures == 1


def test_one_that_is_gone_meanwhile_is_nothing_to_complete() -> None:
    assert complete_collection(assignable_id=4711, now=NOW) is False


def test_one_that_cannot_be_stored_harms_no_other() -> None:
    newsletters = [a_newsletter() for _ in range(5)]
    for newsletter in newsletters:
        collect(newsletter)
    wti = open_collection(newsletters[3]).within_type_id
    IssueFactory(subscribable=newsletters[3], within_type_id=wti)
    assert run() == 4
    assert Assignable.objects.get().subscribable == newsletters[3]
    assert Delivery.objects.count() == 8


@pytest.mark.parametrize("step", ["_insert", "_end", "queue_for_all"])
def test_a_worker_that_is_killed_while_it_stores_a_batch_has_issued_nothing(
    monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    for _ in range(3):
        collect(a_newsletter(readers=2))

    def ends_the_process(*_: object, **__: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patched:
        patched.setattr(complete, step, ends_the_process)
        with pytest.raises(SystemExit):
            run()
    assert (Issue.objects.count(), Delivery.objects.count(), Assignable.objects.count()) == (0, 0, 3)
    assert run(MIDNIGHT + MINUTE) == 0
    assert run(MIDNIGHT + 3 * MINUTE) == 3
    assert (Issue.objects.count(), Delivery.objects.count()) == (3, 6)


def test_those_without_room_in_a_batch_are_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complete, "MOST_CHARACTERS", 1)
    for _ in range(3):
        collect(a_newsletter())
    pks = list(Assignable.objects.values_list("pk", flat=True))
    assert complete.complete_collections(pks, now=MIDNIGHT) == (1, set(pks[1:]))
    assert set(Assignable.objects.values_list("seal_token", "failures")) == {(None, 0)}
    assert run() == 2


def test_newsletters_with_many_readers_are_stored_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(complete, "MOST_LETTERS", 3)
    for _ in range(3):
        collect(a_newsletter(readers=2))
    with mock.patch.object(complete, "queue_for_all", wraps=queue_for_all) as queue:
        assert run() == 3
    assert [len(call.args[0]) for call in queue.call_args_list] == [1, 1, 1]
    assert Delivery.objects.count() == 6


def test_a_further_newsletter_costs_a_pass_at_most_two_statements() -> None:
    def statements(newsletters: int) -> int:
        for _ in range(newsletters):
            collect(a_newsletter())
        with CaptureQueriesContext(connection) as queries:
            assert run() == newsletters
        return len(queries)

    run()
    assert statements(8) - statements(2) <= 2 * 6
