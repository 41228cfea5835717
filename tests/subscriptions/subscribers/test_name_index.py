"""Searches of the list of subscribers use indexes."""

import pytest
from django.db import connection

from subscriptions.admin.subscription_filters import of_domain, search
from subscriptions.models import Subscription
from subscriptions.subscribers.counts import ensure_index
from tests.factories import DestinationFactory, SubscriptionFactory

pytestmark = pytest.mark.django_db


def names(words: str) -> list[str]:
    return [row.display_name for row in search(Subscription.objects.order_by("pk"), words)]


def test_parts_of_names_and_whole_domains_are_found() -> None:
    for name, core in (("Ada Lovelace", "ada@one.example"), ("Grace", "grace@not.one.example")):
        SubscriptionFactory(display_name=name, destination=DestinationFactory(core=core))
    assert names("love ada") == names("Lovelace") == names("@one.example") == ["Ada Lovelace"]
    assert names("@One.example ") == ["Ada Lovelace"]
    assert names("@example") == []


def test_a_domain_is_looked_up_by_its_index() -> None:
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SET LOCAL enable_seqscan = off")
    assert "destination_domain" in of_domain("@one.example").explain()


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite reads all names")
def test_without_the_right_to_create_the_extension_there_is_no_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('subscription_name') IS NOT NULL")
        assert cursor.fetchone() == (True,)
        cursor.execute("DROP EXTENSION pg_trgm CASCADE; CREATE ROLE ordinary; SET LOCAL ROLE ordinary")
        ensure_index(using="default")
        cursor.execute("RESET ROLE")
        cursor.execute("SELECT to_regclass('subscription_name') IS NULL")
        assert cursor.fetchone() == (True,)
        ensure_index(using="default")
        cursor.execute("SELECT to_regclass('subscription_name') IS NOT NULL")
        assert cursor.fetchone() == (True,)
