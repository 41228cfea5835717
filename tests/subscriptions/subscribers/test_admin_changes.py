"""Adding and removing subscribers in the admin.

Confirming, ending and moving many subscriptions at once.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from common.ports import channels, events
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.secrets import opened
from subscriptions.models import Consent, Destination, FrequencyChange, Notice, Subscription
from subscriptions.subscribers import bulk
from subscriptions.subscribers.admin_changes import ask_again, subscribe
from subscriptions.subscribers.bulk import confirm_many, move_many, targets, unsubscribe_many
from subscriptions.subscribers.leave import leave
from tests.factories import (
    NOW,
    BridgeFactory,
    DestinationFactory,
    LeftFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

Status = Subscription.Status
pytestmark = pytest.mark.django_db


class PigeonSpec:
    """Channel with credentials, whose service `check` asks."""

    key = "pigeon"
    label = "Pigeon"
    sentence = "A note on a leg."
    public_sign_up = False
    is_by_code = False
    needs_html = False
    is_companion = False
    borrows = ""
    announcement_hook = ""
    arrangements = frozenset({"each"})
    destination_fields: tuple[Field, ...] = ()
    option_fields: tuple[Field, ...] = ()

    def __init__(self) -> None:
        self.in_transaction: list[bool] = []

    def parse_destination(self, data: Mapping[str, str]) -> ParsedDestination:
        return ParsedDestination(core=data["loft"], label=data["loft"], secrets={"seed": data["seed"]})

    def parse_options(self, data: Mapping[str, str]) -> dict[str, str]:
        return dict(data)

    def check(self, destination: ParsedDestination) -> ParsedDestination:
        blocks = [one for one in connection.atomic_blocks if not getattr(one, "_from_testcase", False)]
        self.in_transaction.append(bool(blocks))
        if destination.secrets["seed"] == "bad":
            raise InvalidDestination("The pigeon does not eat that seed.")
        return destination


@pytest.fixture
def pigeon() -> Iterator[PigeonSpec]:
    kind = PigeonSpec()
    channels.register(kind)
    yield kind
    del channels._registry["pigeon"]


def add(subscribable: Any, email: str = "Ada <ada@example.org>", **facts: Any) -> Subscription:
    return subscribe(**{"subscribable": subscribable, "data": {"email": email}, "now": NOW, **facts})


def test_an_admin_adds_a_confirmed_subscriber_without_a_mail() -> None:
    subscription = add(SubscribableFactory(), language="fr")
    subscription.refresh_from_db()
    assert (subscription.status, subscription.confirmed_at) == ("confirmed", NOW)
    assert (subscription.display_name, subscription.language) == ("Ada", "fr")
    assert subscription.destination.core == "ada@example.org"
    assert not Notice.objects.exists()


def test_unconfirmed_sends_the_confirmation() -> None:
    subscription = add(SubscribableFactory(), confirmed=False)
    assert subscription.status == "unconfirmed"
    assert Notice.objects.get().template == "confirmation"


def test_unconfirmed_does_not_undo_a_confirmation() -> None:
    there = SubscriptionFactory()
    subscription = add(there.subscribable, there.destination.core, confirmed=False)
    assert subscription == there
    assert subscription.status == "confirmed"
    assert not Notice.objects.exists()


@pytest.mark.parametrize("factory", [LeftFactory, UnconfirmedFactory])
def test_an_admin_takes_back_who_left_and_confirms_who_waits(factory: Any) -> None:
    there = factory()
    add(there.subscribable, there.destination.core)
    there.refresh_from_db()
    assert (there.status, there.confirmed_at, there.left_at) == ("confirmed", NOW, None)
    assert there.confirm_nonce == ""


def test_adding_again_renames() -> None:
    there = SubscriptionFactory(display_name="Old", destination__core="ada@example.org")
    add(there.subscribable)
    there.refresh_from_db()
    assert there.display_name == "Ada"


def test_a_suppressed_address_is_refused_with_the_reason() -> None:
    SuppressionFactory(core="ada@example.org", reason="complained")
    with pytest.raises(InvalidDestination, match="complained"):
        add(SubscribableFactory())
    assert not Subscription.objects.exists()


def test_a_channel_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidDestination, match="no channel"):
        add(SubscribableFactory(channel="semaphore"))


def test_credentials_are_checked_outside_any_transaction(pigeon: PigeonSpec) -> None:
    add(SubscribableFactory(channel="pigeon"), data={"loft": "roof", "seed": "corn"})
    assert pigeon.in_transaction == [False]
    assert opened(Destination.objects.get().secrets) == {"seed": "corn"}


@pytest.mark.usefixtures("pigeon")
def test_bad_credentials_write_nothing() -> None:
    with pytest.raises(InvalidDestination, match="seed"):
        add(SubscribableFactory(channel="pigeon"), data={"loft": "roof", "seed": "bad"})
    assert not Destination.objects.exists()


@pytest.mark.usefixtures("pigeon")
def test_new_credentials_replace_the_old_and_enable_the_destination() -> None:
    old = DestinationFactory(kind="pigeon", core="roof", secrets={"seed": "corn"}, disabled_at=NOW)
    add(SubscribableFactory(channel="pigeon"), data={"loft": "roof", "seed": "millet"})
    kept = Destination.objects.get()
    assert kept == old
    assert opened(kept.secrets) == {"seed": "millet"}
    assert kept.disabled_at is None


def test_unsubscribing_keeps_the_row_and_says_when() -> None:
    subscription = SubscriptionFactory()
    leave(subscription=subscription, now=NOW)
    subscription.refresh_from_db()
    assert (subscription.status, subscription.left_at) == ("unsubscribed", NOW)


def test_people_who_never_confirmed_are_asked_by_one_email_each() -> None:
    ada = UnconfirmedFactory()
    other = UnconfirmedFactory(destination=ada.destination)
    suppressed, confirmed = UnconfirmedFactory(), SubscriptionFactory()
    SuppressionFactory(kind="email", core=suppressed.destination.core)
    keys = [row.pk for row in (ada, other, suppressed, confirmed)]
    assert ask_again(keys=keys, now=NOW) == (1, 1)
    assert [notice.kind for notice in Notice.objects.all()] == ["confirmation"]
    assert Consent.objects.filter(act="asked", how="admin").count() == 2
    assert ask_again(keys=keys, now=NOW) == (0, 2)
    assert ask_again(keys=keys, now=NOW + timedelta(minutes=6)) == (1, 1)
    confirmed.refresh_from_db()
    assert confirmed.status == "confirmed"


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
    with django_assert_max_num_queries(18):
        assert unsubscribe_many(keys=keys, now=NOW) == 30
