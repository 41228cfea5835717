"""Two sign-ups of one address at the same moment, on two connections."""

from threading import Barrier, Thread

import pytest
from django.db import connection, connections

from subscriptions.models import Notice, Subscription
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.sign_up import sign_up
from tests.factories import NOW, SubscribableFactory

SECOND_DATABASE = True


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
