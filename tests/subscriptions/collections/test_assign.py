"""Collections of a final item, in every arrangement."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from feeds.models import Feed, Item
from subscriptions.collections.assign import assign_final, assign_item
from subscriptions.models import Assignable, Assignment, Subscribable
from tests.factories import (
    DailyFactory,
    EveryNFactory,
    FeedFactory,
    FinalItemFactory,
    ItemFactory,
    SubscribableFactory,
)

pytestmark = pytest.mark.django_db

# A Monday.
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
NOON = MONDAY + timedelta(hours=12)
DAY = timedelta(days=1)


@pytest.fixture
def feed() -> Feed:
    made: Feed = FeedFactory()
    return made


def assigned(feed: Feed, final_at: datetime = NOON, now: datetime | None = None) -> Item:
    """Return a new item of the feed, assigned."""
    item: Item = FinalItemFactory(feed=feed, final_at=final_at)
    assert assign_item(item_id=item.pk, now=now or final_at)
    item.refresh_from_db()
    return item


def collection(item: Item, subscribable: Subscribable) -> Assignable:
    return Assignable.objects.get(subscribable=subscribable, items=item)


def test_each_post_has_a_collection_of_its_own(feed: Feed) -> None:
    letter = SubscribableFactory(feeds=[feed])
    items = [assigned(feed), assigned(feed)]
    names = [collection(item, letter).within_type_id for item in items]
    assert names == [str(item.pk) for item in items]
    assert collection(items[0], letter).period_end is None


@pytest.mark.parametrize(
    ("arrangement", "start", "end"),
    [
        ({"arrangement": "daily"}, MONDAY, MONDAY + DAY),
        ({"arrangement": "daily", "at": time(14)}, NOON - 22 * timedelta(hours=1), NOON + timedelta(hours=2)),
        ({"arrangement": "weekly", "weekday": 2}, MONDAY - 5 * DAY, MONDAY + 2 * DAY),
        ({"arrangement": "monthly"}, MONDAY - DAY, datetime(2026, 4, 1, tzinfo=UTC)),
        ({"arrangement": "cron", "cron": "0 12 * * *"}, NOON, NOON + DAY),
        (
            {"arrangement": "daily", "time_zone": "Asia/Kolkata"},
            MONDAY - timedelta(hours=5.5),
            MONDAY + timedelta(hours=18.5),
        ),
    ],
)
def test_a_period_is_stored_with_its_start_and_end(
    feed: Feed, arrangement: dict[str, Any], start: datetime, end: datetime
) -> None:
    letter = SubscribableFactory(feeds=[feed], **arrangement)
    found = collection(assigned(feed), letter)
    assert (found.period_start, found.period_end) == (start, end)
    assert collection(assigned(feed), letter) == found


def test_every_n_takes_n_and_then_counts_on(feed: Feed) -> None:
    letter = EveryNFactory(n=2, feeds=[feed])
    names = [collection(assigned(feed), letter).within_type_id for _ in range(5)]
    assert names == ["#1", "#1", "#2", "#2", "#3"]
    letter.refresh_from_db()
    assert letter.counter == 3


def test_every_n_leaves_a_sealed_collection_alone(feed: Feed) -> None:
    letter = EveryNFactory(n=3, feeds=[feed])
    first = collection(assigned(feed), letter)
    seal(first)
    assert collection(assigned(feed), letter).within_type_id == "#2"


def seal(assignable: Assignable) -> None:
    Assignable.objects.filter(pk=assignable.pk).update(
        seal_token="00000000-0000-4000-8000-000000000000", seal_until=NOON
    )


def test_an_item_goes_into_every_newsletter_of_its_feed_at_once(feed: Feed) -> None:
    letters = [SubscribableFactory(feeds=[feed]), DailyFactory(feeds=[feed]), EveryNFactory(feeds=[feed])]
    SubscribableFactory()
    item = assigned(feed)
    assert item.state == "assigned"
    assert {row.subscribable for row in item.assignables.all()} == set(letters)


def test_an_item_of_a_feed_without_a_newsletter_waits_for_its_first_one(feed: Feed) -> None:
    item = FinalItemFactory(feed=feed, final_at=NOON)
    assert assign_final(clock=lambda: NOON + 29 * DAY) == 0
    assert not assign_item(item_id=item.pk, now=NOON)
    letter = SubscribableFactory(feeds=[feed])
    assert assign_final(clock=lambda: NOON + 29 * DAY) == 1
    assert collection(item, letter).within_type_id == str(item.pk)


def test_an_item_that_waited_a_month_for_a_newsletter_is_done_with(feed: Feed) -> None:
    item = FinalItemFactory(feed=feed, final_at=NOON)
    assert assign_final(clock=lambda: NOON + 31 * DAY) == 1
    item.refresh_from_db()
    assert (item.state, item.entry, item.content_hash) == ("cleared", None, "")
    assert not Assignable.objects.exists()


def test_a_stopped_newsletter_takes_no_new_posts(feed: Feed) -> None:
    stopped = SubscribableFactory(feeds=[feed], stopped=True)
    going = SubscribableFactory(feeds=[feed])
    item = assigned(feed)
    assert [row.subscribable for row in item.assignables.all()] == [going]
    assert not stopped.assignables.exists()


def test_an_item_whose_period_is_sealed_goes_into_the_one_open_now(feed: Feed) -> None:
    letter = DailyFactory(feeds=[feed])
    seal(collection(assigned(feed), letter))
    late = collection(assigned(feed, now=NOON + DAY), letter)
    assert late.period_start == MONDAY + DAY


def test_an_item_whose_period_was_issued_goes_into_the_one_open_now(feed: Feed) -> None:
    letter = DailyFactory(feeds=[feed], issued_through=MONDAY + DAY)
    late = collection(assigned(feed, now=NOON + 3 * DAY), letter)
    assert late.period_start == MONDAY + 3 * DAY


def test_an_item_final_before_the_end_and_assigned_after_it_is_in_time(feed: Feed) -> None:
    letter = DailyFactory(feeds=[feed])
    on_time = collection(assigned(feed), letter)
    assert collection(assigned(feed, now=NOON + DAY), letter) == on_time


def test_only_final_items_that_are_still_there_are_assigned(feed: Feed) -> None:
    SubscribableFactory(feeds=[feed])
    ItemFactory(feed=feed)
    FinalItemFactory(feed=feed, vanished_at=NOON)
    final = FinalItemFactory(feed=feed, final_at=NOON)
    assert assign_final(clock=lambda: NOON) == 1
    assert [row.item for row in Assignment.objects.all()] == [final]
    assert assign_final(clock=lambda: NOON) == 0


def test_an_item_is_assigned_once_whoever_asks(feed: Feed) -> None:
    SubscribableFactory(feeds=[feed])
    item = assigned(feed)
    assert not assign_item(item_id=item.pk, now=NOON)
    assert not assign_item(item_id=item.pk + 1000, now=NOON)
    assert Assignment.objects.count() == 1


def test_what_the_budget_does_not_allow_waits_for_the_next_pass(feed: Feed) -> None:
    SubscribableFactory(feeds=[feed])
    FinalItemFactory.create_batch(3, feed=feed)
    assert assign_final(clock=lambda: NOON, budget=timedelta(0)) == 0
    assert assign_final(clock=lambda: NOON) == 3


def test_an_item_that_cannot_be_assigned_stops_no_other(feed: Feed, caplog: pytest.LogCaptureFixture) -> None:
    poisoned = DailyFactory(time_zone="Not/There")
    stuck = FinalItemFactory(feed=poisoned.feeds.get(), final_at=NOON - DAY)
    SubscribableFactory(feeds=[feed])
    FinalItemFactory(feed=feed)
    assert assign_final(clock=lambda: NOON) == 1
    stuck.refresh_from_db()
    assert stuck.state == "unassigned"
    assert [record.__dict__["item"] for record in caplog.records] == [stuck.pk]
