"""A database that vanished silently is noticed; a busy one is waited for."""

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import OperationalError

from common.postgresql import patience
from common.postgresql.patience import Away, PatientConnection
from common.shutdown import stopping
from tests.servers.frozen_proxy import FrozenProxy

pytestmark = pytest.mark.postgres


@pytest.fixture
def proxy(postgres_url: str) -> Iterator[FrozenProxy]:
    parts = urlsplit(postgres_url)
    with FrozenProxy(parts.hostname or "127.0.0.1", parts.port or 5432) as made:
        yield made


@pytest.fixture
def connection(
    proxy: FrozenProxy, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[PatientConnection]:
    monkeypatch.setattr(patience, "SILENCE", 0.3)
    monkeypatch.setattr(patience, "LOOK_EVERY", 0.1)
    monkeypatch.setattr(patience, "PATIENCE", 1)
    monkeypatch.setattr(Away, "database_unreachable", False)
    parts = urlsplit(postgres_url)
    place: dict[str, Any] = {"host": "127.0.0.1", "port": proxy.port, "user": parts.username or "postgres"}
    place |= {"dbname": parts.path[1:], "connect_timeout": 2}
    made = PatientConnection.connect(**place, autocommit=True, prepare_threshold=0)
    made.place = place
    yield made
    made.close()


def test_a_statement_that_is_at_work_is_waited_for(connection: PatientConnection) -> None:
    assert connection.execute("SELECT 7 FROM pg_sleep(1.2)").fetchone() == (7,)
    assert not Away.database_unreachable


def test_a_frozen_connection_is_given_up_and_another_one_works(
    connection: PatientConnection, proxy: FrozenProxy
) -> None:
    proxy.freeze()
    began = time.monotonic()
    with pytest.raises(OperationalError, match="has not answered"):
        connection.execute("SELECT 1")
    assert time.monotonic() - began < 10
    assert connection.closed
    assert Away.database_unreachable
    proxy.heal()
    with psycopg.connect(**connection.place) as other:
        assert other.execute("SELECT 1").fetchone() == (1,)


def test_a_frozen_connection_is_given_up_though_another_one_is_answered(
    connection: PatientConnection, proxy: FrozenProxy
) -> None:
    """A failover: the server that responds now does not know our statement."""
    connection.execute("SELECT 1")
    proxy.freeze()
    proxy.heal()
    with pytest.raises(OperationalError, match="has not answered"):
        connection.execute("SELECT 1")


def test_more_than_the_network_takes_is_given_up_as_well(
    connection: PatientConnection, proxy: FrozenProxy
) -> None:
    proxy.freeze()
    with pytest.raises(OperationalError, match="has not answered"):
        connection.execute("SELECT length(%s)", ["x" * 20_000_000])


def test_who_leaves_waits_less(
    connection: PatientConnection, proxy: FrozenProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "SILENCE", 60.0)
    monkeypatch.setattr(patience, "SILENCE_WHEN_STOPPING", 0.3)
    proxy.freeze()
    stopping.set()
    try:
        with pytest.raises(OperationalError, match="has not answered"):
            connection.execute("SELECT 1")
    finally:
        stopping.clear()
