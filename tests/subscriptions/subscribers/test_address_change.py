"""A reader's change of address: confirmed at the new one, announced to the old one, undone there.

A change of address confirmed in two tabs at once, or while a sign-up uses its new address.

Two simultaneous switches: the second waits, and then sees the first one's result.
Two sign-ups of one address at the same moment, on two connections.
"""

from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client

from common.rates import OverLimit
from common.signing import TokenError
from subscriptions import links
from subscriptions.collections.assign import assign_item
from subscriptions.models import (
    AddressChange,
    Assignable,
    Destination,
    FrequencyChange,
    Notice,
    Subscribable,
    Subscription,
)
from subscriptions.rules.origin import How, Origin
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
from subscriptions.subscribers.frequency import apply_switches, switch
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_in import ask_for_link, mail_links
from subscriptions.subscribers.sign_up import sign_up, take_newsletter
from subscriptions.subscribers.tags import tag_people, tags_of
from tests.factories import (
    NOW,
    DestinationFactory,
    FeedFactory,
    FinalItemFactory,
    LeftFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)
from tests.races import beside

two_writers = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in")
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


@pytest.fixture
def mine() -> Any:
    row = SubscriptionFactory(destination__core="ada@old.example", destination__label="ada@old.example")
    tag_people(destinations=[row.destination_id], names=["vip"])
    return row


def asked(row: Any, now: datetime = NOW) -> str:
    """Return the token of the link at the new address."""
    ask_for_change(reader=row.destination, email="ada@new.example", ip="", now=now)
    context = Notice.objects.filter(template="new_address").latest("pk").context
    return str(context["change_url"]).rstrip("/").rpartition("/")[2]


def confirmed(token: str) -> Any:
    def act() -> str:
        try:
            confirm_change(token=token, now=SOON)
        except TokenError:
            return "spent"
        return "done"

    return act


@two_writers
@pytest.mark.django_db(transaction=True)
def test_of_two_tabs_one_makes_the_change_and_one_mail_tells_the_old_address(mine: Any) -> None:
    token = asked(mine)
    assert beside(confirmed(token), confirmed(token)) == ("done", "spent")
    mine.refresh_from_db()
    assert (mine.destination.core, mine.status) == ("ada@new.example", "confirmed")
    assert Subscription.objects.count() == 1
    assert tags_of(Destination.objects.values_list("pk", flat=True)) == {mine.destination_id: ["vip"]}
    # The mailed link undoes the change.
    assert Notice.objects.filter(template="address_changed").count() == 1
    assert AddressChange.objects.get().carried["rows"] == [["moved", mine.pk]]


@two_writers
@pytest.mark.parametrize("first", ["change", "sign-up"])
@pytest.mark.django_db(transaction=True)
def test_the_new_address_may_take_the_newsletter_meanwhile_and_has_it_once(mine: Any, first: str) -> None:
    token = asked(mine)
    there = Destination.objects.get(core="ada@new.example")
    take = lambda: take_newsletter(  # noqa: E731
        reader=there, subscribable=mine.subscribable, origin=Origin(How.MANAGE), now=SOON
    )
    acts = [confirmed(token), take]
    done = beside(*(acts if first == "change" else reversed(acts)))
    assert "done" in done
    rows = Subscription.objects.confirmed().filter(subscribable=mine.subscribable)
    assert [row.destination.core for row in rows] == ["ada@new.example"]


@two_writers
@pytest.mark.django_db(transaction=True)
def test_two_readers_who_go_to_one_address_at_once_leave_it_each_newsletter_once(mine: Any) -> None:
    other = SubscriptionFactory(subscribable=mine.subscribable, destination__core="bea@old.example")
    tokens = asked(mine), asked(other, NOW + timedelta(seconds=1))
    assert beside(*map(confirmed, tokens)) == ("done", "done")
    rows = Subscription.objects.confirmed().filter(subscribable=mine.subscribable)
    assert [row.destination.core for row in rows] == ["ada@new.example"]


@pytest.mark.django_db
def test_an_old_letters_link_shows_the_new_address_to_nobody_before_its_holder_confirmed(
    client: Client, mine: Any
) -> None:
    token = asked(mine)
    place = links.manage_url(mine)
    before = client.get(place).content.decode()
    assert "ada@old.example" in before
    assert "new.example" not in before
    assert "new.example" not in client.get(links.unsubscribe_url(mine)).content.decode()
    confirm_change(token=token, now=SOON)
    # Its letters keep the same link, and the page shows their address.
    assert "ada@new.example" in client.get(place).content.decode()


@pytest.mark.django_db
def test_who_took_over_from_another_address_is_not_shown_by_the_old_link(client: Client, mine: Any) -> None:
    there = DestinationFactory(core="ada@new.example", label="ada@new.example")
    SubscriptionFactory(subscribable=mine.subscribable, destination=there)
    confirm_change(token=asked(mine), now=SOON)
    assert "new.example" not in client.get(links.manage_url(mine)).content.decode()


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


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
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


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_are_one_switch(each: Subscribable, reader: Subscription) -> None:
    weekly = beside_it(each, arrangement="weekly")
    beside(
        lambda: switch(subscription=reader, to=weekly, now=NOW),
        lambda: switch(subscription=reader, to=weekly, now=NOW),
    )
    assert FrequencyChange.objects.count() == 1
    assert Subscription.objects.count() == 2


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
def test_who_leaves_while_the_switch_takes_effect_has_left_for_good(
    each: Subscribable, reader: Subscription
) -> None:
    made = switch(subscription=reader, to=beside_it(each, arrangement="weekly"), now=NOW)
    beside(
        lambda: apply_switches(switches=[made], now=NOW),
        lambda: leave(subscription=reader, now=NOW, by_reader=True),
    )
    assert set(Subscription.objects.values_list("status", flat=True)) == {"unsubscribed"}


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in at a time")
@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
def test_two_at_once_make_one_subscription_and_one_mail() -> None:
    if connection.vendor == "sqlite" and connection.is_in_memory_db():  # type: ignore[attr-defined]
        pytest.skip("an in-memory database has one connection")
    letter = SubscribableFactory()
    start = Barrier(2, timeout=10)
    errors: list[Exception] = []

    def ask() -> None:
        try:
            start.wait()
            sign_up(subscribables=[letter], email="ada@example.org", name="", origin=Origin(), now=NOW)
        except Exception as error:  # noqa: BLE001
            errors.append(error)
        finally:
            connections.close_all()

    threads = [Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert errors == []
    assert Subscription.objects.count() == 1
    assert Notice.objects.count() == 1
