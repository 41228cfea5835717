"""Collections of a final item, in every arrangement.

A new newsletter of an old feed begins with its last posts, and no other newsletter repeats them.
Editing an arrangement keeps open collections; new items follow the new one.
"""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest

from common.clock import utcnow
from delivery.issues.complete import complete_due
from delivery.models import Delivery
from feeds.models import Feed, Item
from subscriptions.collections.assign import assign_final, assign_item, begin_with, can_begin, latest
from subscriptions.models import Assignable, Assignment, Subscribable
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from subscriptions.rules.edits import CannotEdit
from tests.delivery.ledger import Clock
from tests.factories import (
    DailyFactory,
    EveryNFactory,
    FeedFactory,
    FinalItemFactory,
    ItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
    an_entry,
)
from tests.feeds.documents import a_feed_of

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


def newsletters(arrangement: str) -> tuple[Subscribable, Subscribable]:
    """Return an old and a new newsletter of a feed with three posts, the first of them excluded."""
    entries = [an_entry(number) for number in (1, 2, 3)]
    feed = a_feed_of(reversed(entries))
    for number, entry in enumerate(entries, 1):
        state = Item.State.EXCLUDED if number == 1 else Item.State.CLEARED
        ItemFactory(feed=feed, guid=entry.guid, state=state, entry=None, content_hash="")
    old = SubscribableFactory(last_completed_wti="1", feeds=[feed])
    new = SubscribableFactory(arrangement=arrangement, feeds=[feed])
    for each in (old, new):
        SubscriptionFactory(subscribable=each, status="confirmed")
    return old, new


def test_its_next_issue_has_the_last_posts_and_nobody_else_gets_them() -> None:
    old, new = newsletters("weekly")
    assert begin_with(subscribable=new, count=2, now=utcnow()) == 2
    assert Assignment.objects.filter(assignable__subscribable=new).count() == 2
    clock = Clock(utcnow() + timedelta(days=8))
    Subscribable.objects.update(grace_minutes=0)
    complete_due(clock=clock)
    rows = Delivery.objects.exclude(issue=None)
    assert list(rows.values_list("issue__subscribable", flat=True)) == [new.pk]
    assert rows.get().issue.issue_items.count() == 2  # type: ignore[union-attr]
    assert not old.issues.exists()
    assert set(Item.objects.values_list("state", flat=True)) == {"excluded", "cleared"}
    assert not Item.objects.exclude(entry=None).exists()


def test_a_newsletter_of_every_post_sends_each_of_them() -> None:
    _old, new = newsletters("each")
    assert begin_with(subscribable=new, count=50, now=utcnow()) == 3
    complete_due(clock=Clock(utcnow()))
    assert Delivery.objects.filter(issue__subscribable=new).count() == 3


def test_it_begins_only_once() -> None:
    _old, new = newsletters("weekly")
    assert can_begin(new)
    begin_with(subscribable=new, count=1, now=utcnow())
    assert not can_begin(new)
    with pytest.raises(CannotEdit, match="begun"):
        begin_with(subscribable=new, count=1, now=utcnow())
    assert Assignable.objects.count() == 1


def test_posts_that_wait_for_another_newsletter_are_left_to_it() -> None:
    _old, new = newsletters("weekly")
    ItemFactory(feed=new.feeds.get(), guid=an_entry(4).guid)
    assert len(latest(new, 50)) == 3


class Letter:
    """Newsletter that is edited, and the collection of its next item."""

    def __init__(self, **arrangement: Any) -> None:
        self.feed: Feed = FeedFactory()
        self.row: Subscribable = define_subscribable(name="letter", feeds=[self.feed], **arrangement)

    def edit(self, **arrangement: Any) -> None:
        self.row = alter_subscribable(subscribable=self.row, **arrangement)

    def next(self, at: datetime = NOON) -> Assignable:
        item = FinalItemFactory(feed=self.feed, final_at=at)
        assign_item(item_id=item.pk, now=at)
        return Assignable.objects.get(items=item)


def test_from_daily_to_weekly_with_the_same_start() -> None:
    letter = Letter(arrangement="daily")
    day = letter.next()
    letter.edit(arrangement="weekly")
    week = letter.next()
    assert week != day
    assert (week.period_end, letter.next()) == (MONDAY + 7 * DAY, week)
    day.refresh_from_db()
    assert (day.period_start, day.period_end) == (MONDAY, MONDAY + DAY)


def test_from_weekly_to_daily_with_the_same_start_and_back() -> None:
    letter = Letter(arrangement="weekly")
    week = letter.next()
    letter.edit(arrangement="daily")
    day = letter.next()
    assert (day.period_end, day != week) == (MONDAY + DAY, True)
    letter.edit(arrangement="weekly")
    assert letter.next() == week
    assert Assignable.objects.count() == 2


def test_from_every_n_to_daily_and_back_goes_on_counting() -> None:
    letter = Letter(arrangement="every_n", n=3)
    three = letter.next()
    letter.edit(arrangement="daily")
    assert letter.next().period_end == MONDAY + DAY
    letter.edit(arrangement="every_n", n=2)
    assert letter.next() == three, "it is still open, with the n it was opened with"
    assert (three.capacity, letter.next(), letter.next().within_type_id) == (3, three, "#2")


def test_a_smaller_n_holds_for_the_next_collection() -> None:
    letter = Letter(arrangement="every_n", n=3)
    names = [letter.next().within_type_id]
    letter.edit(n=1)
    names += [letter.next().within_type_id for _ in range(4)]
    assert names == ["#1", "#1", "#1", "#2", "#3"]


def test_from_each_to_every_n_no_name_is_given_twice() -> None:
    letter = Letter()
    names = [letter.next().within_type_id]
    letter.edit(arrangement="every_n", n=1)
    names += [letter.next().within_type_id for _ in range(3)]
    letter.edit(arrangement="each")
    names += [letter.next().within_type_id]
    assert len(set(names)) == 5
    assert names[1:4] == ["#1", "#2", "#3"]


def test_after_an_issue_a_longer_period_begins_where_it_ended() -> None:
    letter = Letter(arrangement="daily")
    letter.next().delete()
    Subscribable.objects.update(issued_through=MONDAY + DAY)
    letter.edit(arrangement="weekly")
    week = letter.next(NOON + DAY)
    assert (week.period_start, week.period_end) == (MONDAY + DAY, MONDAY + 7 * DAY)


def test_what_the_new_arrangement_does_not_use_is_forgotten() -> None:
    letter = Letter(arrangement="every_n", n=3, max_wait_days=2)
    letter.edit(arrangement="cron", cron="0 7 * * *")
    assert (letter.row.n, letter.row.max_wait_days) == (None, None)
    letter.edit(arrangement="daily")
    assert letter.row.cron == ""
