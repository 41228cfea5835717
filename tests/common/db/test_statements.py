"""Statements that PostgreSQL plans once."""

import pytest
from django.db import IntegrityError, connection, transaction

from common.db.prepared import rows_of
from subscriptions.models import Subscribable, Suppression
from tests.factories import NOW, SubscribableFactory

SUPPRESSIONS, NEWSLETTERS = Suppression._meta.db_table, Subscribable._meta.db_table
ADD = f"INSERT INTO {SUPPRESSIONS} (kind, core, reason, created_at) VALUES (%s, %s, '', %s) RETURNING core"
NAMES = f"SELECT name, %s FROM {NEWSLETTERS} WHERE name = %s OR name = %s"
PREPARED = "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s"

pytestmark = pytest.mark.django_db
on_postgresql = pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite prepares by itself")


def prepared() -> int:
    with connection.cursor() as cursor:
        cursor.execute(PREPARED, [f"SELECT name, $1 FROM {NEWSLETTERS}%"])
        return int(cursor.fetchone()[0])


def test_rows_are_found_again_and_again() -> None:
    SubscribableFactory(name="weekly")
    for _ in range(3):
        assert rows_of(connection, NAMES, ["said", "weekly", "daily"]) == [("weekly", "said")]
    assert rows_of(connection, NAMES, ["said", "monthly", "daily"]) == []


def test_errors_are_djangos_and_undo_their_block_alone() -> None:
    moment = connection.ops.adapt_datetimefield_value(NOW)
    rows_of(connection, ADD, ["email", "a@example.org", moment])
    with pytest.raises(IntegrityError), transaction.atomic():
        rows_of(connection, ADD, ["email", "a@example.org", moment])
    assert Suppression.objects.count() == 1


@on_postgresql
def test_the_statement_is_planned_once_for_a_connection() -> None:
    for _ in range(3):
        rows_of(connection, NAMES, ["said", "weekly", "daily"])
    assert prepared() == 1


@on_postgresql
def test_behind_a_pooler_nothing_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    connection.ensure_connection()
    before = prepared()
    monkeypatch.setattr(connection.connection, "prepare_threshold", None)
    assert rows_of(connection, f"{NAMES} AND TRUE", ["said", "weekly", "daily"]) == []
    assert prepared() == before
