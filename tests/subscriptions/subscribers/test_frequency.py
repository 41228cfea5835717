"""Switching between newsletters of the same feeds: permission, effect on both, and undo."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from subscriptions.models import Consent, FrequencyChange, Subscribable, Subscription
from subscriptions.rules.origin import How, Origin
from subscriptions.subscribers.frequency import (
    CannotSwitch,
    cost_of_now,
    is_over,
    rarer_siblings,
    siblings,
    still_to_come,
    switch,
    switch_beginning,
    switch_ending,
    undo_switch,
)
from subscriptions.subscribers.leave import leave, undo_leaving
from tests.factories import (
    NOW,
    AssignableFactory,
    AssignmentFactory,
    FeedFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
# NOW is a Monday at noon.
NEXT_MONDAY = datetime(2026, 3, 9, tzinfo=NOW.tzinfo)
HOUR = timedelta(hours=1)


@pytest.fixture
def feed() -> Any:
    return FeedFactory()


@pytest.fixture
def daily(feed: Any) -> Subscribable:
    made: Subscribable = SubscribableFactory(name="daily", arrangement="daily", feeds=[feed])
    return made


@pytest.fixture
def weekly(feed: Any) -> Subscribable:
    made: Subscribable = SubscribableFactory(name="weekly", arrangement="weekly", feeds=[feed])
    return made


@pytest.fixture
def reader(daily: Subscribable) -> Subscription:
    made: Subscription = SubscriptionFactory(subscribable=daily, display_name="Ada", language="fr")
    return made


def joined(newsletter: Subscribable) -> Subscription:
    return Subscription.objects.get(subscribable=newsletter)


def names(newsletters: list[Subscribable]) -> list[str]:
    return [one.name for one in newsletters]


def test_siblings_are_of_the_very_same_feeds_and_channel(daily: Subscribable, weekly: Any, feed: Any) -> None:
    SubscribableFactory(name="more", feeds=[feed, FeedFactory()])
    SubscribableFactory(name="other", feeds=[FeedFactory()])
    SubscribableFactory(name="bridge", feeds=[feed], channel="mastodon", sign_up="closed")
    assert names(siblings(daily, now=NOW)) == ["weekly"]
    both = SubscribableFactory(name="both", feeds=[feed, FeedFactory()])
    assert names(siblings(both, now=NOW)) == []


@pytest.mark.parametrize(
    "hidden",
    [{"visibility": "private"}, {"visibility": "unlisted"}, {"sign_up": "closed"}, {"stopped": True}],
)
def test_what_readers_may_not_see_or_sign_up_to_is_no_sibling(
    daily: Subscribable, feed: Any, hidden: dict[str, Any]
) -> None:
    other = SubscribableFactory(arrangement="weekly", feeds=[feed], **hidden)
    assert siblings(daily, now=NOW) == []
    with pytest.raises(CannotSwitch):
        switch(subscription=SubscriptionFactory(subscribable=daily), to=other, now=NOW)


def test_siblings_stand_in_the_order_of_their_pace(daily: Subscribable, weekly: Any, feed: Any) -> None:
    SubscribableFactory(name="monthly", title="A monthly", arrangement="monthly", feeds=[feed])
    SubscribableFactory(name="each", title="Z: each", feeds=[feed])
    assert names(siblings(daily, now=NOW)) == ["each", "weekly", "monthly"]


def test_only_those_that_come_less_often_are_offered_to_who_leaves(daily: Subscribable, weekly: Any) -> None:
    assert names(rarer_siblings(daily, now=NOW)) == ["weekly"]
    assert rarer_siblings(weekly, now=NOW) == []


def test_the_new_one_is_confirmed_at_once_with_everything_carried_over(
    reader: Subscription, weekly: Subscribable
) -> None:
    before = Consent.objects.create(
        subscription=reader, act="confirmed", at=NOW - HOUR, how="page", words="Yes"
    )
    Subscription.objects.filter(pk=reader.pk).update(paused_until=NOW + 5 * HOUR)
    reader.refresh_from_db()
    switch(subscription=reader, to=weekly, now=NOW, origin=Origin(How.MANAGE, words="Get this instead"))
    new = joined(weekly)
    assert (new.destination, new.status, new.display_name) == (reader.destination, "confirmed", "Ada")
    assert (new.language, new.confirmed_at, new.added_at) == ("fr", reader.confirmed_at, NOW)
    assert new.paused_until == NOW + 5 * HOUR
    proofs = list(new.consents.values_list("act", "at", "words"))
    assert proofs == [("confirmed", before.at, "Yes"), ("switched", NOW, "Get this instead")]


def test_both_know_when_it_takes_effect(reader: Subscription, weekly: Subscribable) -> None:
    made = switch(subscription=reader, to=weekly, now=NOW)
    reader.refresh_from_db()
    assert (reader.receives_until, joined(weekly).receives_from, made.at) == (NEXT_MONDAY,) * 3
    assert made.rarer == weekly
    assert (switch_ending(reader), switch_beginning(joined(weekly))) == (made, made)
    assert not is_over(made, NEXT_MONDAY - HOUR)
    assert is_over(made, NEXT_MONDAY)


def test_the_rarer_newsletter_decides_in_both_directions(weekly: Subscribable, daily: Subscribable) -> None:
    made = switch(subscription=SubscriptionFactory(subscribable=weekly), to=daily, now=NOW)
    assert (made.rarer, made.at) == (weekly, NEXT_MONDAY)


def test_every_n_counts_what_is_still_to_come(reader: Subscription, feed: Any) -> None:
    each = SubscribableFactory(feeds=[feed])
    five = SubscribableFactory(feeds=[feed], arrangement="every_n", n=5, counter=4)
    filling = AssignableFactory(subscribable=five, within_type_id="#4", capacity=5)
    AssignmentFactory.create_batch(2, assignable=filling)
    made = switch(subscription=SubscriptionFactory(subscribable=each), to=five, now=NOW)
    assert (made.at, made.number, made.rarer) == (None, 4, five)
    assert still_to_come(made) == 3
    assert not is_over(made, NOW + 1000 * HOUR)
    Subscribable.objects.filter(pk=five.pk).update(counter=5)
    assert is_over(FrequencyChange.objects.get(), NOW)


def test_taking_it_back_leaves_no_trace(reader: Subscription, weekly: Subscribable) -> None:
    before = Subscription.objects.filter(pk=reader.pk).values().get()
    switch(subscription=reader, to=weekly, now=NOW)
    assert undo_switch(subscription=reader, now=NOW + HOUR)
    assert Subscription.objects.values().get() == before
    assert not FrequencyChange.objects.exists()
    assert not undo_switch(subscription=reader, now=NOW + HOUR)


def test_taking_it_back_puts_an_older_subscription_back_to_left(
    reader: Subscription, weekly: Subscribable
) -> None:
    LeftFactory(subscribable=weekly, destination=reader.destination)
    switch(subscription=reader, to=weekly, now=NOW)
    assert joined(weekly).status == "confirmed"
    undo_switch(subscription=reader, now=NOW + HOUR)
    assert (joined(weekly).status, joined(weekly).left_at) == ("unsubscribed", NOW + HOUR)


def test_once_it_has_taken_effect_it_cannot_be_taken_back(reader: Subscription, weekly: Subscribable) -> None:
    switch(subscription=reader, to=weekly, now=NOW)
    with pytest.raises(CannotSwitch):
        undo_switch(subscription=reader, now=NEXT_MONDAY)
    with pytest.raises(CannotSwitch):
        switch(subscription=reader, to=weekly, now=NEXT_MONDAY)


def test_a_second_thought_takes_the_place_of_the_first(
    reader: Subscription, weekly: Subscribable, feed: Any
) -> None:
    monthly = SubscribableFactory(arrangement="monthly", feeds=[feed])
    switch(subscription=reader, to=weekly, now=NOW)
    made = switch(subscription=reader, to=monthly, now=NOW + HOUR)
    assert list(FrequencyChange.objects.all()) == [made]
    assert not Subscription.objects.filter(subscribable=weekly).exists()
    reader.refresh_from_db()
    assert reader.receives_until == datetime(2026, 4, 1, tzinfo=NOW.tzinfo)


def test_clicking_twice_is_clicking_once(reader: Subscription, weekly: Subscribable) -> None:
    for _ in range(2):
        switch(subscription=reader, to=weekly, now=NOW)
    assert FrequencyChange.objects.count() == 1
    assert Subscription.objects.count() == 2


def test_what_is_only_to_begin_cannot_be_switched_itself(
    reader: Subscription, weekly: Subscribable, daily: Subscribable
) -> None:
    switch(subscription=reader, to=weekly, now=NOW)
    with pytest.raises(CannotSwitch):
        switch(subscription=joined(weekly), to=daily, now=NOW)


@pytest.mark.parametrize("factory", [LeftFactory, UnconfirmedFactory])
def test_who_does_not_receive_it_cannot_switch(factory: Any, daily: Any, weekly: Any) -> None:
    with pytest.raises(CannotSwitch):
        switch(subscription=factory(subscribable=daily), to=weekly, now=NOW)
    assert not FrequencyChange.objects.exists()


def test_what_the_reader_had_before_goes_on_as_it_was(reader: Subscription, weekly: Subscribable) -> None:
    had = SubscriptionFactory(subscribable=weekly, destination=reader.destination, display_name="Grace")
    made = switch(subscription=reader, to=weekly, now=NOW)
    assert made.was_there
    undo_switch(subscription=reader, now=NOW)
    had.refresh_from_db()
    assert (had.status, had.display_name, had.receives_from) == ("confirmed", "Grace", None)


def test_at_once_the_old_one_gets_nothing_new_and_the_new_one_everything(
    reader: Subscription, weekly: Subscribable, daily: Subscribable
) -> None:
    switch(subscription=reader, to=weekly, now=NOW, at_once=True)
    reader.refresh_from_db()
    assert reader.ended_at == NOW
    assert list(daily.subscriptions.confirmed()) == []
    assert list(weekly.subscriptions.confirmed()) == [joined(weekly)]
    assert joined(weekly).receives_from is None


def test_switching_back_at_once_brings_the_same_subscription_back(
    reader: Subscription, weekly: Subscribable, daily: Subscribable
) -> None:
    switch(subscription=reader, to=weekly, now=NOW, at_once=True)
    switch(subscription=joined(weekly), to=daily, now=NOW + HOUR, at_once=True)
    assert list(Subscription.objects.confirmed()) == [reader]
    reader.refresh_from_db()
    assert (reader.status, reader.ended_at, reader.left_at) == ("confirmed", None, None)


def test_changing_now_says_what_it_costs(daily: Subscribable, weekly: Subscribable) -> None:
    days, weeks = AssignableFactory(subscribable=daily), AssignableFactory(subscribable=weekly)
    had, waiting = AssignmentFactory(assignable=weeks), AssignmentFactory(assignable=weeks)
    AssignmentFactory(assignable=days, item=waiting.item)
    assert cost_of_now(old=daily, new=weekly) == {"skipped": 0, "repeated": 1}
    assert cost_of_now(old=weekly, new=daily) == {"skipped": 1, "repeated": 0}
    assert had.item != waiting.item


def test_leaving_leaves_both_sides_and_coming_back_brings_both_back(
    reader: Subscription, weekly: Subscribable
) -> None:
    switch(subscription=reader, to=weekly, now=NOW)
    before = list(Subscription.objects.order_by("pk").values())
    for leaves in (reader, joined(weekly)):
        leave(subscription=leaves, now=NOW, by_reader=True)
        assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}
        assert undo_leaving(subscription=leaves, now=NOW + HOUR)
        assert list(Subscription.objects.order_by("pk").values()) == before


def test_leaving_does_not_leave_what_the_reader_had_before(
    reader: Subscription, weekly: Subscribable
) -> None:
    had = SubscriptionFactory(subscribable=weekly, destination=reader.destination)
    switch(subscription=reader, to=weekly, now=NOW)
    leave(subscription=reader, now=NOW, by_reader=True)
    had.refresh_from_db()
    assert had.status == "confirmed"


def test_who_leaves_what_they_had_keeps_what_they_were_switching_from(
    reader: Subscription, weekly: Subscribable
) -> None:
    had = SubscriptionFactory(subscribable=weekly, destination=reader.destination)
    switch(subscription=reader, to=weekly, now=NOW)
    leave(subscription=had, now=NOW, by_reader=True)
    reader.refresh_from_db()
    assert (reader.status, reader.receives_until) == ("confirmed", None)
    assert not FrequencyChange.objects.exists()


def test_an_old_letters_link_leaves_what_its_newsletter_was_changed_for(
    reader: Subscription, weekly: Subscribable, daily: Subscribable
) -> None:
    """The mail client's button ends all letters, whichever letter it was in."""
    switch(subscription=reader, to=weekly, now=NOW, at_once=True)
    reader.refresh_from_db()
    leave(subscription=reader, now=NOW + HOUR, by_reader=True)
    assert joined(weekly).status == "unsubscribed"
    assert undo_leaving(subscription=reader, now=NOW + 2 * HOUR)
    assert joined(weekly).status == "confirmed"
    assert joined(daily).status == "unsubscribed"
