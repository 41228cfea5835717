"""No network inside a transaction."""

import pytest
from django.db import transaction

from common.net.client import SafeClient
from common.transactions import NetworkInTransaction, forbid_open_transaction


@pytest.mark.django_db
def test_a_tests_own_transaction_does_not_count() -> None:
    forbid_open_transaction()


@pytest.mark.django_db
def test_an_open_transaction_is_refused() -> None:
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        forbid_open_transaction()
    forbid_open_transaction()


@pytest.mark.django_db
def test_the_client_refuses_to_ask_within_one() -> None:
    with transaction.atomic(), pytest.raises(NetworkInTransaction):
        SafeClient().get("http://127.0.0.1:9/")
