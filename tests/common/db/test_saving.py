"""New rows, saved as by the ORM."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from common.db.bulk import save_new
from subscriptions.models import Consent, Destination, Notice, Subscription
from tests.factories import NOW, DestinationFactory, NoticeFactory, SubscribableFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def values(row: Any) -> dict[str, Any]:
    found = type(row).objects.filter(pk=row.pk).values().get()
    return {name: value for name, value in found.items() if name not in ("id", "secrets")}


@pytest.mark.parametrize("make", [DestinationFactory, SubscriptionFactory, NoticeFactory])
def test_a_row_is_kept_as_the_orm_keeps_it(make: Any) -> None:
    theirs = make()
    kept = values(theirs)
    ours = type(theirs)(**kept)
    theirs.delete()
    save_new([ours])
    assert values(ours) == kept


def test_secrets_and_json_are_kept() -> None:
    made = Destination(kind="email", core="a", label="ž", config={"x": "ž"}, added_at=NOW)
    made.secrets = {"seed": "hush"}
    save_new([made])
    found = Destination.objects.get()
    assert (found.config, found.secrets.open()) == ({"x": "ž"}, {"seed": "hush"})


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


def test_what_is_there_already_is_an_integrity_error() -> None:
    there = DestinationFactory()
    with pytest.raises(IntegrityError), transaction.atomic():
        save_new([Destination(kind=there.kind, core=there.core, label="")])


def test_none_are_no_statement(django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0):
        save_new([])
    assert not Consent.objects.exists()
    assert not Notice.objects.exists()
