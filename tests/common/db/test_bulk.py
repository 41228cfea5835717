"""Many rows at once, on both databases.

New rows, saved as by the ORM.
Sequences in parts of a limited size.
The next item is made while one is used.
"""

import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from hypothesis import given
from hypothesis import strategies as st

from common.db.bulk import batched, find_rows, insert_rows, prefetch, save_new
from subscriptions.models import Consent, Destination, Notice, Subscription, Suppression
from tests.factories import (
    NOW,
    DestinationFactory,
    NoticeFactory,
    SubscribableFactory,
    SubscriptionFactory,
    SuppressionFactory,
)

ODD = ["o'brien@x", 'a"b\\c@x', "{braces},comma@x", "žofie🦄@x", "%s@x", "NULL", " ", "line\nfeed@x"]


def suppressions(cores: list[str], **more: Any) -> int:
    columns: dict[str, Any] = {
        "kind": ["email"] * len(cores),
        "core": cores,
        "created_at": [NOW] * len(cores),
    }
    return insert_rows(Suppression, {**columns, **more})


@pytest.mark.django_db
def test_rows_are_made_with_odd_texts_as_they_are() -> None:
    assert suppressions(ODD) == len(ODD)
    assert set(Suppression.objects.values_list("core", "reason", "created_at")) == {
        (core, "", NOW) for core in ODD
    }


@pytest.mark.django_db
def test_rows_that_are_there_are_left_out_and_not_counted() -> None:
    SuppressionFactory(core="a@x", reason="mine")
    assert suppressions(["a@x", "b@x", "b@x"], reason=["theirs"] * 3) == 1
    assert dict(Suppression.objects.values_list("core", "reason")) == {"a@x": "mine", "b@x": "theirs"}


@pytest.mark.django_db
def test_times_json_and_nothing_are_kept_as_they_are() -> None:
    newsletter = SubscribableFactory()
    config = [{"address": "a@x"}, {}]
    moment = NOW - timedelta(microseconds=1)
    insert_rows(
        Destination,
        {"kind": ["email"] * 2, "core": ["a@x", "b@x"], "label": ["A", "B"], "config": config,
         "secrets": ["", ""], "added_at": [moment, NOW]},
    )  # fmt: skip
    first, second = Destination.objects.order_by("core")
    assert (first.config, second.config, first.added_at) == (*config, moment)
    columns = {
        "subscribable": [newsletter.pk] * 2,
        "destination": [first.pk, second.pk],
        "added_at": [NOW, NOW],
        "confirmed_at": [moment, None],
        "token": ["one", "two"],
    }
    assert insert_rows(Subscription, columns) == 2
    kept = Subscription.objects.order_by("token").values_list("status", "confirmed_at", "paused_until")
    assert list(kept) == [("unconfirmed", moment, None), ("unconfirmed", None, None)]


@pytest.mark.django_db
def test_a_default_that_is_computed_must_be_given() -> None:
    with pytest.raises(ValueError, match="created_at"):
        insert_rows(Suppression, {"kind": ["email"], "core": ["a@x"]})


@pytest.mark.django_db
def test_rows_are_found_by_what_they_are_known_by() -> None:
    for core in ODD:
        SuppressionFactory(core=core, kind="email", reason=core[::-1])
    SuppressionFactory(core="other@x", kind="sms")
    wanted = [*ODD, "other@x", "nobody@x"]
    found = find_rows(Suppression, ["reason"], key="core", values=wanted, kind="email")
    assert dict(found) == {core: core[::-1] for core in ODD}


@pytest.mark.django_db
def test_rows_are_found_by_the_key_of_another() -> None:
    rows = SubscriptionFactory.create_batch(3, subscribable=SubscribableFactory())
    SubscriptionFactory(destination=rows[0].destination)
    wanted = [rows[0].destination_id, rows[2].destination_id, 10**12]
    found = find_rows(
        Subscription, ["id", "status"], key="destination", values=wanted, subscribable=rows[0].subscribable_id
    )
    assert sorted(found) == [(row.destination_id, row.pk, "confirmed") for row in (rows[0], rows[2])]


def values(row: Any) -> dict[str, Any]:
    found = type(row).objects.filter(pk=row.pk).values().get()
    return {name: value for name, value in found.items() if name not in ("id", "secrets")}


@pytest.mark.parametrize("make", [DestinationFactory, SubscriptionFactory, NoticeFactory])
@pytest.mark.django_db
def test_a_row_is_kept_as_the_orm_keeps_it(make: Any) -> None:
    theirs = make()
    kept = values(theirs)
    ours = type(theirs)(**kept)
    theirs.delete()
    save_new([ours])
    assert values(ours) == kept


@pytest.mark.django_db
def test_secrets_and_json_are_kept() -> None:
    made = Destination(kind="email", core="a", label="ž", config={"x": "ž"}, added_at=NOW)
    made.secrets = {"seed": "hush"}
    save_new([made])
    found = Destination.objects.get()
    assert (found.config, found.secrets.open()) == ({"x": "ž"}, {"seed": "hush"})


@pytest.mark.django_db
def test_several_get_the_keys_of_their_own_rows(django_assert_num_queries: Any) -> None:
    destination = DestinationFactory()
    rows = [Subscription(subscribable=each, destination=destination, added_at=NOW)
            for each in SubscribableFactory.create_batch(3)]  # fmt: skip
    with django_assert_num_queries(1):
        save_new(rows)
    for row in rows:
        assert Subscription.objects.get(pk=row.pk).subscribable == row.subscribable
    rows[0].display_name = "Ada"
    rows[0].save()
    assert Subscription.objects.count() == 3


@pytest.mark.django_db
def test_what_is_there_already_is_an_integrity_error() -> None:
    there = DestinationFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        save_new([Destination(kind=there.kind, core=there.core, label="")])


@pytest.mark.django_db
def test_none_are_no_statement(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        save_new([])
    assert not Consent.objects.exists()
    assert not Notice.objects.exists()


@given(st.lists(st.integers()), st.integers(1, 9))
def test_all_rows_come_once_in_their_order_and_never_more_than_asked_for(rows: list[int], size: int) -> None:
    parts = list(batched(rows, size))
    assert [row for part in parts for row in part] == rows
    assert all(0 < len(part) <= size for part in parts)
    assert all(len(part) == size for part in parts[:-1])


def test_all_come_in_order() -> None:
    assert list(prefetch(iter(range(50)))) == list(range(50))
    assert list(prefetch(iter([]))) == []
    assert list(prefetch(iter([None, None]))) == [None, None]


def test_the_next_is_made_meanwhile_and_no_more_than_that() -> None:
    made: list[int] = []
    second = threading.Event()

    def items() -> Iterator[int]:
        for number in range(5):
            made.append(number)
            if number == 1:
                second.set()
            yield number

    going = prefetch(items())
    assert next(going) == 0
    assert second.wait(5)
    assert made == [0, 1]
    going.close()  # type: ignore[attr-defined]


def test_what_goes_wrong_comes_where_it_belongs() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("two")

    going = prefetch(items())
    assert next(going) == 1
    with pytest.raises(ValueError, match="two"):
        next(going)
