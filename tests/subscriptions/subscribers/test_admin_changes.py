"""Adding and removing subscribers in the admin."""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from common.ports import channels
from common.ports.channels import Field, InvalidDestination, ParsedDestination
from common.secrets import opened
from subscriptions.models import Consent, Destination, Notice, Subscription
from subscriptions.subscribers.admin_changes import ask_again, subscribe, unsubscribe
from tests.factories import (
    NOW,
    DestinationFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
    UnconfirmedFactory,
)

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
    unsubscribe(subscription=subscription, now=NOW)
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
