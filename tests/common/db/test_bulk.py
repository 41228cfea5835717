"""Many rows at once, on both databases."""

from datetime import timedelta
from typing import Any

import pytest

from common.db.bulk import find_rows, insert_rows
from subscriptions.models import Destination, Subscription, Suppression
from tests.factories import NOW, SubscribableFactory, SubscriptionFactory, SuppressionFactory

pytestmark = pytest.mark.django_db

ODD = ["o'brien@x", 'a"b\\c@x', "{braces},comma@x", "žofie🦄@x", "%s@x", "NULL", " ", "line\nfeed@x"]


def suppressions(cores: list[str], **more: Any) -> int:
    columns: dict[str, Any] = {
        "kind": ["email"] * len(cores),
        "core": cores,
        "created_at": [NOW] * len(cores),
    }
    return insert_rows(Suppression, {**columns, **more})


def test_rows_are_made_with_odd_texts_as_they_are() -> None:
    assert suppressions(ODD) == len(ODD)
    assert set(Suppression.objects.values_list("core", "reason", "created_at")) == {
        (core, "", NOW) for core in ODD
    }


def test_rows_that_are_there_are_left_out_and_not_counted() -> None:
    SuppressionFactory(core="a@x", reason="mine")
    assert suppressions(["a@x", "b@x", "b@x"], reason=["theirs"] * 3) == 1
    assert dict(Suppression.objects.values_list("core", "reason")) == {"a@x": "mine", "b@x": "theirs"}


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


def test_a_default_that_is_computed_must_be_given() -> None:
    with pytest.raises(ValueError, match="created_at"):
        insert_rows(Suppression, {"kind": ["email"], "core": ["a@x"]})


def test_rows_are_found_by_what_they_are_known_by() -> None:
    for core in ODD:
        SuppressionFactory(core=core, kind="email", reason=core[::-1])
    SuppressionFactory(core="other@x", kind="sms")
    wanted = [*ODD, "other@x", "nobody@x"]
    found = find_rows(Suppression, ["reason"], key="core", values=wanted, kind="email")
    assert dict(found) == {core: core[::-1] for core in ODD}


def test_rows_are_found_by_the_key_of_another() -> None:
    rows = SubscriptionFactory.create_batch(3, subscribable=SubscribableFactory())
    SubscriptionFactory(destination=rows[0].destination)
    wanted = [rows[0].destination_id, rows[2].destination_id, 10**12]
    found = find_rows(
        Subscription, ["id", "status"], key="destination", values=wanted, subscribable=rows[0].subscribable_id
    )
    assert sorted(found) == [(row.destination_id, row.pk, "confirmed") for row in (rows[0], rows[2])]
