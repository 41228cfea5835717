"""Two simultaneous switches: the second waits, and then sees the first one's result."""

from typing import Any

import pytest
from django.db import connection

from subscriptions.collections.assign import assign_item
from subscriptions.models import Assignable, FrequencyChange, Subscribable, Subscription
from subscriptions.subscribers.frequency import apply_switches, switch
from subscriptions.subscribers.leave import leave
from tests.factories import NOW, FeedFactory, FinalItemFactory, SubscribableFactory, SubscriptionFactory
from tests.races import beside

SECOND_DATABASE = True

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time"),
]


@pytest.fixture
def each() -> Subscribable:
    made: Subscribable = SubscribableFactory(feeds=[FeedFactory()])
    return made


@pytest.fixture
def reader(each: Subscribable) -> Subscription:
    made: Subscription = SubscriptionFactory(subscribable=each)
    return made


def beside_it(each: Subscribable, **facts: Any) -> Any:
    return SubscribableFactory(feeds=list(each.feeds.all()), **facts)


def test_a_switch_is_not_cut_while_a_letter_is_being_counted(
    each: Subscribable, reader: Subscription
) -> None:
    two = beside_it(each, arrangement="every_n", n=2)
    item = FinalItemFactory(feed=each.feeds.get())
    _, made = beside(
        lambda: assign_item(item_id=item.pk, now=NOW), lambda: switch(subscription=reader, to=two, now=NOW)
    )
    assert Assignable.objects.get(subscribable=two).within_type_id == "#1"
    assert made.number == 1


def test_two_clicks_at_once_are_one_switch(each: Subscribable, reader: Subscription) -> None:
    weekly = beside_it(each, arrangement="weekly")
    beside(
        lambda: switch(subscription=reader, to=weekly, now=NOW),
        lambda: switch(subscription=reader, to=weekly, now=NOW),
    )
    assert FrequencyChange.objects.count() == 1
    assert Subscription.objects.count() == 2


def test_who_leaves_while_the_switch_takes_effect_has_left_for_good(
    each: Subscribable, reader: Subscription
) -> None:
    made = switch(subscription=reader, to=beside_it(each, arrangement="weekly"), now=NOW)
    beside(
        lambda: apply_switches(switches=[made], now=NOW),
        lambda: leave(subscription=reader, now=NOW, by_reader=True),
    )
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}


def test_a_switch_whose_reader_leaves_at_this_moment_is_not_settled(
    each: Subscribable, reader: Subscription
) -> None:
    made = switch(subscription=reader, to=beside_it(each, arrangement="weekly"), now=NOW)
    _, settled = beside(
        lambda: leave(subscription=reader, now=NOW, by_reader=True),
        lambda: apply_switches(switches=[made], now=NOW),
    )
    assert settled == 0
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}
