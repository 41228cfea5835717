"""Editing an arrangement keeps open collections; new items follow the new one."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from feeds.models import Feed
from subscriptions.collections.assign import assign_item
from subscriptions.models import Assignable, Subscribable
from subscriptions.newsletters.define import alter_subscribable, define_subscribable
from tests.factories import FeedFactory, FinalItemFactory

pytestmark = pytest.mark.django_db

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
NOON = MONDAY + timedelta(hours=12)
DAY = timedelta(days=1)


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
