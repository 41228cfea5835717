"""A kept connection that the server ended is noticed before it is used again."""

import psycopg
import pytest
from django.core.signals import request_started
from django.db import connection
from django.db.backends.postgresql import base

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no server"),
]


def ended_by_the_server() -> int:
    """Ends our connection from another one, as a restart would; returns the process that served it."""
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


def test_the_next_request_has_a_connection_that_works() -> None:
    asked()
    gone = ended_by_the_server()
    assert not connection.is_usable()
    request_started.send(sender=None)
    assert asked() != gone
