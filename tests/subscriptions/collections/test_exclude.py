"""Excluding works until a collection is sealed, and removes the item from open ones."""

from uuid import uuid4

import pytest
from django.db import connection

from feeds.models import Item
from subscriptions.collections.assign import EXCLUDED_BY_HAND, assign_item, exclude, lock_for_membership
from subscriptions.models import Assignable, Assignment, Subscribable
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    DailyFactory,
    FeedFactory,
    FinalItemFactory,
    ItemFactory,
)
from tests.races import beside

pytestmark = pytest.mark.django_db


def test_a_waiting_item_is_excluded_with_the_reason_and_without_content() -> None:
    made = FinalItemFactory(rolled_off_at=NOW)
    assert exclude(item_id=made.pk, reason="a draft")
    item = Item.objects.get()
    assert (item.state, item.reason, item.entry, item.content_hash) == ("excluded", "a draft", None, "")
    assert (item.final_at, item.vanished_at, item.rolled_off_at) == (None, None, None)
    assert item.title
    assert not assign_item(item_id=item.pk, now=NOW)


def test_an_assigned_item_leaves_every_open_collection_and_others_stay() -> None:
    first, second = AssignableFactory(), AssignableFactory()
    other = AssignmentFactory(assignable=first)
    item = AssignmentFactory(assignable=first).item
    AssignmentFactory(assignable=second, item=item)
    assert exclude(item_id=item.pk, reason=EXCLUDED_BY_HAND)
    assert list(Assignment.objects.all()) == [other]
    assert list(Assignable.objects.all()) == [first], "an emptied collection disappears"


def test_what_a_sealed_collection_holds_is_too_late() -> None:
    sealed = AssignableFactory(seal_token=uuid4(), seal_until=NOW)
    item = AssignmentFactory(assignable=sealed).item
    AssignmentFactory(item=item)
    assert not exclude(item_id=item.pk, reason=EXCLUDED_BY_HAND)
    assert item.assignments.count() == 2
    item.refresh_from_db()
    assert item.state == "assigned"


@pytest.mark.parametrize("state", ["cleared", "excluded"])
def test_what_was_sent_or_excluded_stays_as_it_is(state: str) -> None:
    item = ItemFactory(state=state, reason="before")
    assert not exclude(item_id=item.pk, reason=EXCLUDED_BY_HAND)
    item.refresh_from_db()
    assert (item.state, item.reason) == (state, "before")


def test_of_many_those_that_can_be_are_excluded() -> None:
    keys = [ItemFactory().pk, ItemFactory(state="cleared").pk, 10**6]
    assert [exclude(item_id=key, reason=EXCLUDED_BY_HAND) for key in keys] == [True, False, False]


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_an_exclusion_beside_an_assignment_takes_the_item_out_again() -> None:
    feed = FeedFactory()
    DailyFactory(feeds=[feed])
    item = FinalItemFactory(feed=feed)
    assert beside(
        lambda: assign_item(item_id=item.pk, now=NOW),
        lambda: exclude(item_id=item.pk, reason=EXCLUDED_BY_HAND),
    ) == (True, True)
    assert not Assignable.objects.exists()
    item.refresh_from_db()
    assert item.state == "excluded"


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_an_assignment_beside_an_exclusion_finds_nothing_to_do() -> None:
    feed = FeedFactory()
    DailyFactory(feeds=[feed])
    item = FinalItemFactory(feed=feed)
    assert beside(
        lambda: exclude(item_id=item.pk, reason=EXCLUDED_BY_HAND),
        lambda: assign_item(item_id=item.pk, now=NOW),
    ) == (True, False)
    assert not Assignable.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
def test_an_exclusion_waits_for_whoever_changes_what_a_newsletter_of_its_feed_holds() -> None:
    letter = DailyFactory()
    item = FinalItemFactory(feed=letter.feeds.get())
    beside(
        lambda: lock_for_membership(Subscribable.objects.all()),
        lambda: exclude(item_id=item.pk, reason=EXCLUDED_BY_HAND),
    )
