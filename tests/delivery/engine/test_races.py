"""The races in rules.md, each with two connections on PostgreSQL. Each fails without its lock."""

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from channels.base import Sent
from delivery.engine.claim import claim_due, reap_expired
from delivery.engine.outcomes import record_outcomes
from delivery.engine.send_task import ClaimedDelivery
from delivery.issues.complete import (
    Completed,
    _sealed,
    complete_collection,
    complete_collections,
    store_issues,
)
from delivery.issues.contents import collected
from delivery.models import Delivery, Issue, IssueItem, Lane, LaneUse, Restore
from delivery.rendering.errors import Rendered
from feeds.models import Item
from feeds.parsing.entry import Entry, ParsedFeed
from feeds.polling.read import Reading
from feeds.polling.store import store
from subscriptions.collections.assign import assign_item
from subscriptions.models import Assignable
from tests.delivery.ledger import HOUR, a_lane, a_mail, claimed, ended_task, limited, queued, states
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DailyFactory,
    DeliveryFactory,
    EveryNFactory,
    FeedFactory,
    FinalItemFactory,
    SubscribableFactory,
)
from tests.races import beside

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time"),
]

RENDERED = Rendered(title="Title", subject="Subject", html="<p>Html</p>", text="Text", placeholders={})
LATER = NOW + timedelta(days=2)
STOPPED_BY = {
    "nothing": lambda lane: None,
    "a domain's pause": lambda lane: limited(lane, "example.org", paused=True),
    "a domain's rate": lambda lane: limited(lane, "example.org", rate=0.001, tokens=0),
    "a recipient's cap": lambda lane: Lane.objects.update(per_recipient=0),
    "a restore": lambda lane: Restore.objects.create(begun_at=NOW + HOUR),
}


def a_daily_collection() -> tuple[Any, Any, Any]:
    """Create an ended, open collection of one item, and a final item of the same day."""
    feed = FeedFactory(fetched_through=LATER)
    subscribable = DailyFactory(feeds=[feed])
    held = FinalItemFactory(feed=feed)
    assign_item(item_id=held.pk, now=NOW)
    return subscribable, held, FinalItemFactory(feed=feed)


def test_an_assign_that_was_first_is_in_the_collection_that_is_sealed() -> None:
    _, held, coming = a_daily_collection()
    assignable = Assignable.objects.get()
    _, sealed = beside(
        lambda: assign_item(item_id=coming.pk, now=NOW), lambda: _sealed([assignable.pk], LATER)
    )
    assert sealed
    assert {post.item_id for post in collected(assignable).posts} == {held.pk, coming.pk}


def test_an_assign_beside_a_seal_goes_into_another_collection() -> None:
    _, held, coming = a_daily_collection()
    Item.objects.filter(pk=coming.pk).update(final_at=None)
    assignable = Assignable.objects.get()

    def becomes_final_and_is_assigned() -> bool:
        Item.objects.filter(pk=coming.pk).update(final_at=NOW)
        return assign_item(item_id=coming.pk, now=LATER)

    sealed, assigned = beside(lambda: _sealed([assignable.pk], LATER), becomes_final_and_is_assigned)
    assert sealed
    assert {post.item_id for post in collected(assignable).posts} == {held.pk}
    assert assigned
    assert Item.objects.get(pk=coming.pk).assignables.get().pk != assignable.pk


def a_sealed_collection_of(item: Any) -> Completed:
    token = uuid.uuid4()
    assignable = AssignableFactory(seal_token=token, seal_until=NOW + timedelta(minutes=1))
    AssignmentFactory(assignable=assignable, item=item)
    return Completed(collected(assignable), RENDERED, token)


def test_two_collections_that_complete_at_once_clear_their_common_item() -> None:
    item = FinalItemFactory(state="assigned")
    stores = [
        lambda completed=completed: store_issues([completed], now=NOW)
        for completed in (a_sealed_collection_of(item), a_sealed_collection_of(item))
    ]

    def second() -> Any:
        with transaction.atomic():
            return stores[1]()

    beside(stores[0], second)
    item.refresh_from_db()
    assert item.state == "cleared"
    assert Issue.objects.count() == IssueItem.objects.count() == 2


def a_reading_without(item: Any, moment: datetime) -> Reading:
    older = Entry(guid="older", title="Older")
    parsed = ParsedFeed(title="Blog", guids=("older",), entries=(older,))
    return Reading(b"x", "0" * 64, {}, "http://blog.example/", moment, parsed)


def test_a_plan_beside_an_assign_neither_withdraws_nor_resets_the_item() -> None:
    feed = FeedFactory(first_polled_at=NOW - timedelta(hours=2))
    SubscribableFactory(feeds=[feed])
    item = FinalItemFactory(feed=feed)
    older = Entry(guid="older", title="Older")
    both = ParsedFeed(title="Blog", guids=(item.guid, "older"), entries=(older,))
    with transaction.atomic():
        store(feed, Reading(b"", "1" * 64, {}, "http://b/", NOW, both))

    def poll() -> Any:
        with transaction.atomic():
            return store(feed, a_reading_without(item, NOW + timedelta(minutes=1)))

    _, plan = beside(lambda: assign_item(item_id=item.pk, now=NOW), poll)
    item.refresh_from_db()
    assert plan.vanish == []
    assert (item.state, item.vanished_at, item.final_at) == ("assigned", None, NOW)
    assert item.assignments.count() == 1


def test_every_n_beside_every_n_never_takes_more_than_n() -> None:
    feed = FeedFactory()
    EveryNFactory(n=2, feeds=[feed])
    assign_item(item_id=FinalItemFactory(feed=feed).pk, now=NOW)
    one, two = FinalItemFactory(feed=feed), FinalItemFactory(feed=feed)
    beside(lambda: assign_item(item_id=one.pk, now=NOW), lambda: assign_item(item_id=two.pk, now=NOW))
    assert sorted(row.assignments.count() for row in Assignable.objects.all()) == [1, 2]


def a_claimed_job() -> ClaimedDelivery:
    DeliveryFactory(due_at=NOW)
    lane = Delivery.objects.get().lane
    (job,) = claim_due(lane_id=lane.pk, now=NOW, in_flight=0).rows
    return job


def test_reaping_beside_a_late_finish_leaves_it_sent() -> None:
    job = a_claimed_job()
    late = NOW + timedelta(minutes=5)
    beside(
        lambda: record_outcomes([ended_task(job, Sent("id"), late)]),
        lambda: reap_expired(now=late),
        blocks=False,
    )
    row = Delivery.objects.get()
    assert (row.state, row.remote_id, row.attempts) == ("sent", "id", 1)


def test_a_late_finish_beside_reaping_is_recorded_all_the_same() -> None:
    job = a_claimed_job()
    late = NOW + timedelta(minutes=5)
    beside(lambda: reap_expired(now=late), lambda: record_outcomes([ended_task(job, Sent("id"), late)]))
    row = Delivery.objects.get()
    assert (row.state, row.remote_id) == ("sent", "id")


def test_two_workers_that_complete_one_collection_issue_it_once() -> None:
    a_daily_collection()
    assignable = Assignable.objects.get()
    Item.objects.filter(assignables=None).delete()
    beside(
        lambda: complete_collection(assignable_id=assignable.pk, now=LATER),
        lambda: complete_collection(assignable_id=assignable.pk, now=LATER),
    )
    assert Issue.objects.count() == 1


def test_two_workers_with_batches_that_overlap_issue_each_collection_once() -> None:
    feed = FeedFactory(fetched_through=LATER)
    newsletters = [DailyFactory(feeds=[feed]) for _ in range(3)]
    assign_item(item_id=FinalItemFactory(feed=feed).pk, now=NOW)
    one, two, three = (newsletter.assignables.get().pk for newsletter in newsletters)
    first, second = beside(
        lambda: complete_collections([two, one], now=LATER),
        lambda: complete_collections([one, three, two], now=LATER),
    )
    assert (first, second) == ((2, set()), (1, set()))
    assert Issue.objects.count() == 3
    assert set(Item.objects.values_list("state", flat=True)) == {"cleared"}


def mail_comes_and_is_claimed(lane: Lane) -> tuple[ClaimedDelivery, ...]:
    """Claim a row that another worker cannot have chosen: it did not exist yet."""
    a_mail(lane=lane, due_at=NOW)
    return claimed(lane=lane)


@pytest.mark.parametrize("limits", [{"rate": 0.001, "burst": 2, "tokens": 2}, {"per_hour": 2}])
def test_two_workers_do_not_use_a_lanes_room_twice(limits: dict[str, Any]) -> None:
    lane = a_lane(**limits)
    queued(2, lane=lane)
    first, second = beside(lambda: claimed(lane=lane), lambda: mail_comes_and_is_claimed(lane), blocks=False)
    assert (len(first), second) == (2, ())
    assert claimed(lane=lane) == ()


def test_two_workers_do_not_use_a_domains_room_twice() -> None:
    lane = a_lane()
    limited(lane, "example.org", concurrency=2)
    queued(2, lane=lane)
    first, second = beside(lambda: claimed(lane=lane), lambda: mail_comes_and_is_claimed(lane), blocks=False)
    assert (len(first), second) == (2, ())
    assert claimed(lane=lane) == ()


def test_a_serial_lane_has_one_head_however_many_workers_ask() -> None:
    lane = a_lane(serial=True, concurrency=1)
    queued(lane=lane)
    first, second = beside(lambda: claimed(lane=lane), lambda: mail_comes_and_is_claimed(lane), blocks=False)
    assert (len(first), second) == (1, ())
    assert states() == {"sending": 1, "queued": 1}


def test_two_lanes_do_not_use_the_room_of_their_account_twice() -> None:
    account = a_lane(kind="discord_bot", account="bot", serial=False, per_hour=1)
    one, two = (
        a_lane(kind="discord_bot", account=f"bot/{number}", serial=True, parent=account) for number in (1, 2)
    )
    queued(lane=one)
    queued(lane=two)
    first, second = beside(lambda: claimed(lane=one), lambda: claimed(lane=two))
    assert (len(first), second) == (1, ())
    assert LaneUse.objects.get(lane=account).count == 1


def test_connecting_another_channel_of_an_account_does_not_stop_the_others() -> None:
    account = a_lane(kind="discord_bot", account="bot", serial=False)
    lane = a_lane(kind="discord_bot", account="bot/1", serial=True, parent=account)
    queued(lane=lane)

    def connect() -> None:
        a_lane(kind="discord_bot", account="bot/2", serial=True, parent=account)
        with connection.cursor() as cursor:
            # The insert locks the account's row when its foreign key is checked.
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")

    _, rows = beside(connect, lambda: claimed(lane=lane), blocks=False)
    assert len(rows) == 1


@pytest.mark.parametrize("stopped_by", STOPPED_BY)
def test_a_letter_that_is_cancelled_beside_a_claim_stays_cancelled(stopped_by: str) -> None:
    lane = a_lane()
    queued(lane=lane)
    STOPPED_BY[stopped_by](lane)

    def cancel() -> None:
        Delivery.objects.update(state="cancelled", last_error="By hand.")

    _, rows = beside(cancel, lambda: claimed(lane=lane))
    row = Delivery.objects.get()
    assert rows == ()
    assert (row.state, row.held_for, row.last_error, row.due_at) == ("cancelled", "", "By hand.", NOW)
    assert (row.lease_token, row.begun_at) == (None, None)
