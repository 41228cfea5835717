"""A connection that the server closed is noticed before it is used again; times are read exactly."""

from datetime import UTC, datetime

import psycopg
import pytest
from django.core.signals import request_started
from django.db import InterfaceError, InternalError, OperationalError, connection, transaction
from django.db.backends.postgresql import base

AWAY = (OperationalError, InterfaceError, InternalError)
pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no server"),
]


def ended_by_the_server() -> int:
    """Close our connection from another one, as a restart would; return its backend's process id."""
    pid = int(connection.connection.info.backend_pid)
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    return pid


def asked() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_a_connection_that_is_well_is_asked_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    pid = asked()
    monkeypatch.setattr(base.DatabaseWrapper, "is_usable", lambda _: pytest.fail("it was asked"))
    assert connection.is_usable()
    assert asked() == pid


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_the_next_request_has_a_connection_that_works() -> None:
    asked()
    gone = ended_by_the_server()
    assert not connection.is_usable()
    request_started.send(sender=None)
    assert asked() != gone


def bounds() -> dict[str, str]:
    names = ("statement_timeout", "idle_in_transaction_session_timeout")
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, setting FROM pg_settings WHERE name = ANY(%s)", [list(names)])
        return dict(cursor.fetchall())


def test_the_server_bounds_statements_and_what_a_frozen_process_holds() -> None:
    """Well within a lease of a minute."""
    assert bounds() == {"statement_timeout": "300000", "idle_in_transaction_session_timeout": "20000"}


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
def test_a_migration_may_take_as_long_as_it_takes() -> None:
    usual = bounds()
    with connection.schema_editor():
        assert set(bounds().values()) == {"0"}
    assert bounds() == usual


def test_a_transaction_that_does_nothing_is_ended_and_leaves_no_lock() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET idle_in_transaction_session_timeout = 100")
    with pytest.raises(AWAY):
        do_nothing_with_a_lock()


@transaction.atomic
def do_nothing_with_a_lock() -> None:
    """Hold a lock idly until another connection gets it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(77)")
        with psycopg.connect(**connection.get_connection_params(), autocommit=True) as other:
            other.execute("SET lock_timeout = '5s'")
            other.execute("SELECT pg_advisory_lock(77)")
        cursor.execute("SELECT 1")


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 28, 9, 5, 7, 20, tzinfo=UTC),
        datetime(2026, 11, 28, 9, 5, 7, 500_000, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    ],
)
def test_times_are_read_as_they_were_written(moment: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [moment])
        (read,) = cursor.fetchone()
    assert (read, read.tzinfo) == (moment, UTC)
