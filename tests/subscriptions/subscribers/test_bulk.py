"""Confirming, ending and moving many subscriptions at once."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from common.ports import events
from subscriptions.models import Consent, FrequencyChange, Notice, Subscription
from subscriptions.subscribers import bulk
from subscriptions.subscribers.bulk import confirm_many, move_many, targets, unsubscribe_many
from tests.factories import (
    NOW,
    BridgeFactory,
    LeftFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    UnconfirmedFactory,
)

pytestmark = pytest.mark.django_db
Status = Subscription.Status


@pytest.fixture
def told() -> Iterator[list[events.Event]]:
    heard: list[events.Event] = []

    def hear(event: events.Event, **signal: object) -> None:
        heard.append(event)

    events.happened.connect(hear)
    yield heard
    events.happened.disconnect(hear)


def everybody() -> list[int]:
    return list(Subscription.objects.values_list("pk", flat=True))


def now_of(row: Subscription) -> Subscription:
    return Subscription.objects.get(pk=row.pk)


def test_those_that_wait_are_confirmed_with_the_name_they_asked_for(told: list[events.Event]) -> None:
    waiting, left, there = UnconfirmedFactory(asked_name="Ada"), LeftFactory(), SubscriptionFactory()
    assert confirm_many(keys=everybody(), now=NOW) == 1
    row = now_of(waiting)
    assert (row.status, row.confirmed_at, row.display_name, row.confirm_nonce) == (
        "confirmed",
        NOW,
        "Ada",
        "",
    )
    assert (now_of(left).status, now_of(there).confirmed_at) == ("unsubscribed", there.confirmed_at)
    proof = Consent.objects.get()
    assert (proof.subscription, proof.act, proof.how) == (row, "added", "admin")
    assert [(event.kind, event.keys) for event in told] == [(events.EventKind.CONFIRMED, (row.pk,))]
    assert not Notice.objects.exists()
    assert confirm_many(keys=everybody(), now=NOW) == 0


def test_those_that_have_not_ended_end_and_their_confirmations_with_them(told: list[events.Event]) -> None:
    there, waiting, left = SubscriptionFactory(), UnconfirmedFactory(), LeftFactory()
    NoticeFactory(subscription=waiting)
    assert unsubscribe_many(keys=everybody(), now=NOW) == 2
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}
    assert (now_of(there).left_at, now_of(left).left_at) == (NOW, left.left_at)
    assert now_of(waiting).confirm_nonce == ""
    assert not Notice.objects.exists()
    assert [event.keys for event in told] == [(there.pk, waiting.pk)]


def switching() -> tuple[Subscription, Subscription]:
    old = SubscriptionFactory()
    new = SubscriptionFactory(destination=old.destination)
    FrequencyChange.objects.create(
        old=old, new=new, rarer=new.subscribable, at=NOW + timedelta(days=1), made_at=NOW
    )
    return old, new


def test_who_is_switching_ends_on_both_sides() -> None:
    old, new = switching()
    assert unsubscribe_many(keys=[old.pk], now=NOW) == 1
    assert now_of(new).status == "unsubscribed"


def test_some_move_with_all_that_is_theirs_and_some_stay() -> None:
    here, target = SubscribableFactory(), SubscribableFactory()
    moving = SubscriptionFactory(subscribable=here, display_name="Ada")
    Consent.objects.create(subscription=moving, act="confirmed", at=NOW)
    twice = SubscriptionFactory(subscribable=here)
    LeftFactory(subscribable=target, destination=twice.destination)
    left, waiting = LeftFactory(subscribable=here), UnconfirmedFactory(subscribable=here)
    old, new = switching()
    already = SubscriptionFactory(subscribable=target)
    assert move_many(keys=everybody(), target=target, now=NOW) == 1
    row = now_of(moving)
    assert (row.subscribable, row.display_name, row.token) == (target, "Ada", moving.token)
    assert (row.confirmed_at, row.consents.count()) == (moving.confirmed_at, 1)
    for stays in (twice, left, waiting, old, new, already):
        assert now_of(stays).subscribable == stays.subscribable


def test_of_two_of_one_address_one_moves() -> None:
    one = SubscriptionFactory()
    two = SubscriptionFactory(destination=one.destination)
    target = SubscribableFactory()
    assert [(each.moving, each.there) for each in targets(everybody()) if each.subscribable == target] == [
        (1, 0)
    ]
    assert move_many(keys=[two.pk, one.pk], target=target, now=NOW) == 1
    assert (now_of(one).subscribable, now_of(two).subscribable) == (target, two.subscribable)


def test_targets_say_what_moving_would_do() -> None:
    here, other = SubscribableFactory(name="a"), SubscribableFactory(name="b")
    rows = SubscriptionFactory.create_batch(3, subscribable=here)
    SubscriptionFactory(subscribable=other, destination=rows[0].destination)
    LeftFactory(subscribable=here)
    BridgeFactory()
    keys = list(here.subscriptions.values_list("pk", flat=True))
    assert [(each.subscribable, each.moving, each.there) for each in targets(keys)] == [(other, 2, 1)]


def test_many_take_few_statements(
    monkeypatch: pytest.MonkeyPatch, django_assert_max_num_queries: Any
) -> None:
    SubscriptionFactory.create_batch(30, subscribable=SubscribableFactory())
    target = SubscribableFactory()
    keys = everybody()
    with django_assert_max_num_queries(6):
        assert move_many(keys=keys, target=target, now=NOW) == 30
    monkeypatch.setattr(bulk, "TOGETHER", 20)
    with django_assert_max_num_queries(16):
        assert unsubscribe_many(keys=keys, now=NOW) == 30
