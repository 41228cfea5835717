"""A reader's change of address: confirmed at the new one, announced to the old one, undone there."""

from datetime import timedelta
from typing import Any

import pytest

from common.rates import OverLimit
from common.signing import TokenError
from subscriptions.models import AddressChange, Destination, Notice, Subscription
from subscriptions.subscribers.address_change import (
    CHANGES,
    GOOD_FOR,
    KEPT_FOR,
    UNDO_FOR,
    CannotChangeAddress,
    ask_for_change,
    confirm_change,
    forget_address_changes,
    undo_change,
)
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from subscriptions.subscribers.tags import tag_people, tags_of
from tests.factories import (
    NOW,
    DestinationFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)

pytestmark = pytest.mark.django_db
NEW = "Ada@New.example"
SOON = NOW + timedelta(minutes=5)


@pytest.fixture
def ada() -> Destination:
    made: Destination = DestinationFactory(core="ada@old.example")
    return made


def token_of(template: str) -> str:
    """Return the token in the link of the last such mail."""
    context = Notice.objects.filter(template=template).latest("pk").context
    return str(context.get("change_url") or context["undo_url"]).rstrip("/").rpartition("/")[2]


def changed(ada: Destination) -> AddressChange:
    ask_for_change(reader=ada, email=NEW, ip="192.0.2.1", now=NOW, language="de")
    return confirm_change(token=token_of("new_address"), now=SOON)


def undone() -> None:
    undo_change(token=token_of("address_changed"), now=SOON + timedelta(days=1))


def standing(row: Any) -> tuple[str, str]:
    row.refresh_from_db()
    return row.destination.core, row.status


def test_nothing_changes_before_the_new_address_confirms_and_then_the_old_one_is_told(
    ada: Destination,
) -> None:
    row = SubscriptionFactory(destination=ada)
    token = row.token
    ask_for_change(reader=ada, email=NEW, ip="", now=NOW)
    mail = Notice.objects.get()
    assert (mail.destination.core, mail.destination.label) == ("ada@new.example", "Ada@new.example")
    assert standing(row) == ("ada@old.example", "confirmed")
    confirm_change(token=token_of("new_address"), now=SOON)
    assert standing(row) == ("ada@new.example", "confirmed")
    # The links in the old address's letters still work.
    assert row.token == token
    assert Notice.objects.latest("pk").destination == ada


def test_each_link_works_once_and_not_for_ever(ada: Destination) -> None:
    SubscriptionFactory(destination=ada)
    ask_for_change(reader=ada, email=NEW, ip="", now=NOW)
    first = token_of("new_address")
    ask_for_change(reader=ada, email="other@new.example", ip="", now=SOON)
    second = token_of("new_address")
    for token, at in ((first, SOON), (second, SOON + GOOD_FOR), ("x", SOON), (second + "x", SOON)):
        with pytest.raises(TokenError):
            confirm_change(token=token, now=at)
    confirm_change(token=second, now=SOON)
    undo = token_of("address_changed")
    with pytest.raises(TokenError):
        confirm_change(token=second, now=SOON)
    with pytest.raises(TokenError):
        undo_change(token=undo, now=SOON + UNDO_FOR)
    undo_change(token=undo, now=SOON)
    for act, token in ((undo_change, undo), (confirm_change, second)):
        with pytest.raises(TokenError):
            act(token=token, now=SOON)


def test_an_address_that_is_taken_keeps_what_it_has_and_gets_the_rest(ada: Destination) -> None:
    both, left, mine = SubscribableFactory(), SubscribableFactory(), SubscribableFactory()
    there = DestinationFactory(core="ada@new.example")
    joined, theirs = (SubscriptionFactory(subscribable=both, destination=one) for one in (ada, there))
    gone = LeftFactory(subscribable=left, destination=there)
    again = SubscriptionFactory(subscribable=left, destination=ada, display_name="Ada")
    moved = SubscriptionFactory(subscribable=mine, destination=ada)
    private = SubscriptionFactory(destination=there)
    tag_people(destinations=[ada.pk], names=["press", "vip"])
    tag_people(destinations=[there.pk], names=["vip"])
    changed(ada)
    assert standing(joined) == ("ada@old.example", "unsubscribed")
    assert standing(theirs) == standing(gone) == standing(moved) == ("ada@new.example", "confirmed")
    assert standing(again) == ("ada@old.example", "unsubscribed")
    assert tags_of([ada.pk, there.pk]) == {there.pk: ["press", "vip"]}
    assert not Subscription.objects.confirmed().filter(destination=ada).exists()
    undone()
    assert standing(joined) == standing(again) == standing(moved) == ("ada@old.example", "confirmed")
    assert standing(theirs) == standing(private) == ("ada@new.example", "confirmed")
    assert standing(gone) == ("ada@new.example", "unsubscribed")
    assert tags_of([ada.pk, there.pk]) == {ada.pk: ["press", "vip"], there.pk: ["vip"]}


def test_an_old_letters_link_leaves_what_the_new_address_took_over(ada: Destination) -> None:
    newsletter = SubscribableFactory()
    theirs = LeftFactory(subscribable=newsletter, destination__core="ada@new.example")
    mine = SubscriptionFactory(subscribable=newsletter, destination=ada)
    changed(ada)
    mine.refresh_from_db()
    leave(subscription=mine, now=SOON, by_reader=True)
    assert standing(theirs) == ("ada@new.example", "unsubscribed")
    undone()
    # A subscription that its reader has left since stays ended.
    assert standing(mine) == ("ada@old.example", "unsubscribed")


def test_what_was_subscribed_anew_at_the_old_address_stays_there(ada: Destination) -> None:
    newsletter = SubscribableFactory()
    moved = SubscriptionFactory(subscribable=newsletter, destination=ada)
    changed(ada)
    anew = SubscriptionFactory(subscribable=newsletter, destination=ada)
    undone()
    assert standing(anew) == ("ada@old.example", "confirmed")
    assert standing(moved) == ("ada@new.example", "unsubscribed")


@pytest.mark.parametrize("how", ["suppressed", "disabled"])
def test_nothing_goes_to_where_nothing_may_be_sent(ada: Destination, how: str) -> None:
    if how == "suppressed":
        SuppressionFactory(core="ada@new.example")
    else:
        DestinationFactory(core="ada@new.example", disabled_at=NOW)
    ask_for_change(reader=ada, email=NEW, ip="", now=NOW)
    assert not Notice.objects.exists()


def test_a_suppression_since_stops_the_change(ada: Destination) -> None:
    row = SubscriptionFactory(destination=ada)
    ask_for_change(reader=ada, email=NEW, ip="", now=NOW)
    SuppressionFactory(core="ada@new.example")
    with pytest.raises(TokenError):
        confirm_change(token=token_of("new_address"), now=SOON)
    assert standing(row) == ("ada@old.example", "confirmed")
    assert AddressChange.objects.get().confirmed_at is None


def test_an_address_that_must_not_be_written_to_is_not_left_by_this_way(ada: Destination) -> None:
    SuppressionFactory(core=ada.core)
    with pytest.raises(CannotChangeAddress):
        ask_for_change(reader=ada, email=NEW, ip="", now=NOW)


def test_the_same_address_is_no_new_one(ada: Destination) -> None:
    with pytest.raises(CannotChangeAddress):
        ask_for_change(reader=ada, email="ADA@old.example", ip="", now=NOW)


def test_it_cannot_be_asked_for_without_end(ada: Destination) -> None:
    for number in range(CHANGES.most):
        ask_for_change(reader=ada, email=f"{number}@new.example", ip="", now=NOW)
    with pytest.raises(OverLimit):
        ask_for_change(reader=ada, email=NEW, ip="", now=NOW)
    assert Notice.objects.count() == CHANGES.most


def test_sign_in_links_of_the_old_address_open_nothing_after_the_change(ada: Destination) -> None:
    SubscriptionFactory(destination=ada)
    ask_for_link(email=ada.core, ip="", now=NOW)
    mail_links(now=NOW)
    changed(ada)
    assert not ada.sign_ins.exists()


def test_what_is_long_over_is_forgotten_with_addresses_that_nobody_confirmed(ada: Destination) -> None:
    ask_for_change(reader=ada, email=NEW, ip="", now=NOW)
    Notice.objects.all().delete()
    assert forget_address_changes(now=NOW + KEPT_FOR) == 0
    assert forget_address_changes(now=NOW + KEPT_FOR + timedelta(days=1)) == 1
    assert not Destination.objects.filter(core="ada@new.example").exists()
    assert Destination.objects.filter(pk=ada.pk).exists()
