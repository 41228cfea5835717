"""Simultaneous changes of collections by two connections. Each test fails without the named lock."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection

from feeds.adding.add import alter_feed
from feeds.models import Feed, Item
from subscriptions.collections import post_rules
from subscriptions.collections.assign import (
    DropRefused,
    _note_stuck,
    assign_item,
    delete_dropped_feeds,
    drop_feed,
    drop_subscribable,
    exclude,
    lock_for_membership,
)
from subscriptions.collections.edits import leave_out_ahead, send_withdrawn
from subscriptions.collections.post_rules import add_rule
from subscriptions.models import Assignment, FailedAssignment, PostRule, Subscribable
from tests.factories import (
    NOW,
    AssignmentFactory,
    DailyFactory,
    FeedFactory,
    FinalItemFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
)
from tests.races import beside

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time"),
]


def a_newsletter() -> Subscribable:
    """Return a newsletter of one feed, with a collected post and one that waits to settle."""
    newsletter: Subscribable = DailyFactory()
    feed = newsletter.feeds.get()
    AssignmentFactory(assignable__subscribable=newsletter, item__feed=feed)
    ItemFactory(feed=feed)
    return newsletter


def force_drop(newsletter: Subscribable) -> None:
    drop_feed(feed=newsletter.feeds.get(), force=True, now=NOW)


def delete_dropped(newsletter: Subscribable) -> None:
    newsletter.feeds.update(dropping=True)
    delete_dropped_feeds()


def exclude_assigned(newsletter: Subscribable) -> None:
    exclude(item_id=Assignment.objects.get().item_id, reason="by hand")


def send_assigned(newsletter: Subscribable) -> None:
    row = Assignment.objects.get()
    send_withdrawn(assignable_id=row.assignable_id, item_id=row.item_id, now=NOW)


def leave_out_settling(newsletter: Subscribable) -> None:
    item = Item.objects.get(assignments=None)
    leave_out_ahead(subscribable_id=newsletter.pk, item_id=item.pk, now=NOW)


@pytest.mark.parametrize(
    "change", [force_drop, delete_dropped, exclude_assigned, send_assigned, leave_out_settling]
)
def test_a_change_of_what_a_newsletter_holds_waits_for_the_lock_for_membership(
    change: Callable[[Subscribable], None],
) -> None:
    newsletter = a_newsletter()
    beside(lambda: lock_for_membership(Subscribable.objects.all()), lambda: change(newsletter))


def test_the_lock_for_membership_keeps_nobody_from_signing_up() -> None:
    newsletter = a_newsletter()
    _, subscription = beside(
        lambda: lock_for_membership(Subscribable.objects.all()),
        lambda: SubscriptionFactory(subscribable=newsletter),
        blocks=False,
    )
    assert subscription.pk


def test_a_newsletter_dropped_beside_an_assignment_leaves_nothing_behind() -> None:
    newsletter = DailyFactory()
    item = FinalItemFactory(feed=newsletter.feeds.get())
    beside(
        lambda: assign_item(item_id=item.pk, now=NOW),
        lambda: drop_subscribable(subscribable=newsletter, force=True, now=NOW),
    )
    item.refresh_from_db()
    assert (item.state, item.entry) == ("cleared", None)
    assert not Assignment.objects.exists()


def test_a_post_that_changes_beside_its_assignment_is_not_taken() -> None:
    item = FinalItemFactory(feed=DailyFactory().feeds.get())

    def change() -> None:
        Item.objects.filter(pk=item.pk).update(content_hash="v1:other", final_at=None)

    assert beside(change, lambda: assign_item(item_id=item.pk, now=NOW)) == (None, False)
    assert not Assignment.objects.exists()


def test_a_post_that_is_sent_beside_its_exclusion_is_not_excluded() -> None:
    item = FinalItemFactory()

    def send() -> None:
        Item.objects.filter(pk=item.pk).update(state="cleared", entry=None, content_hash="")

    assert beside(send, lambda: exclude(item_id=item.pk, reason="by hand")) == (None, False)


def test_a_feed_is_not_dropped_beside_a_poll_that_brings_a_post() -> None:
    feed = SubscribableFactory().feeds.get()

    def poll() -> None:
        Feed.objects.select_for_update().get(pk=feed.pk)
        FinalItemFactory(feed=feed)

    def drop() -> str:
        try:
            return drop_feed(feed=feed, force=False, now=NOW)
        except DropRefused as error:
            return str(error)

    assert "1 post" in beside(poll, drop)[1]
    assert feed.items.count() == 1


def test_a_feed_that_is_wanted_again_is_not_deleted() -> None:
    feed = FeedFactory(dropping=True, status="stopped")
    _, deleted = beside(lambda: alter_feed(feed=feed, status="active"), delete_dropped_feeds)
    assert deleted == 0
    assert Feed.objects.get().status == "active"


@pytest.mark.parametrize("earlier", [0, 1])
def test_two_workers_that_fail_with_one_post_count_both_failures(earlier: int) -> None:
    item = FinalItemFactory()
    for _ in range(earlier):
        _note_stuck(item.pk, ValueError("No."), NOW)

    def fail() -> None:
        _note_stuck(item.pk, ValueError("No."), NOW)

    beside(fail, fail)
    assert FailedAssignment.objects.get().failures == earlier + 2


def test_two_editors_together_add_no_more_rules_than_there_may_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(post_rules, "MOST_RULES", 1)
    newsletter = SubscribableFactory()

    def add() -> Any:
        try:
            return add_rule(subscribable=newsletter, action="drop", field="title", pattern="sponsored")
        except ValidationError:
            return None

    first, second = beside(add, add)
    assert (first.pk, second) == (PostRule.objects.get().pk, None)
