"""A change of address confirmed in two tabs at once, or while a sign-up uses its new address.

Two simultaneous switches: the second waits, and then sees the first one's result.
Two sign-ups of one address at the same moment, on two connections.
"""

from datetime import datetime, timedelta
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client

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
from subscriptions.subscribers.address_change import ask_for_change, confirm_change
from subscriptions.subscribers.frequency import apply_switches, switch
from subscriptions.subscribers.leave import leave
from subscriptions.subscribers.sign_up import sign_up, take_newsletter
from subscriptions.subscribers.tags import tag_people, tags_of
from tests.factories import (
    NOW,
    DestinationFactory,
    FeedFactory,
    FinalItemFactory,
    SubscribableFactory,
    SubscriptionFactory,
)
from tests.races import beside

two_writers = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one writer in")
SOON = NOW + timedelta(minutes=5)


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
