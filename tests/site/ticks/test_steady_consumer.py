"""A worker reconnects after any error of a lost broker; one that never worked says why and ends."""

from types import SimpleNamespace
from typing import Any

import pytest
from celery.worker.consumer import Consumer

from feedletter_site.ticks import steady_consumer
from feedletter_site.ticks.steady_consumer import SteadyConsumer


@pytest.fixture
def consumer(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(steady_consumer, "RECONNECT_PAUSE_SECONDS", 0)
    made = SteadyConsumer.__new__(SteadyConsumer)
    restarts: list[object] = []
    made.__dict__.update(
        restart_count=2,
        connection=object(),
        restarts=restarts,
        on_close=lambda: None,
        blueprint=SimpleNamespace(restart=restarts.append),
        connection_errors=(),
        _unknown=set(),
    )
    return made


def test_an_error_that_celery_does_not_know_makes_it_connect_again(
    consumer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kombu 5.7 fails on connections that it has just closed."""
    errors = [AttributeError("'NoneType' object has no attribute 'hostname'"), KeyError("gone")]

    def start(_: object) -> None:
        if errors:
            raise errors.pop()

    monkeypatch.setattr(Consumer, "start", start)
    consumer.start()
    assert consumer.restarts == [consumer, consumer]
    assert consumer.connection is None


def test_what_never_worked_ends_the_worker(consumer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: object) -> None:
        raise AttributeError("a setting")

    monkeypatch.setattr(Consumer, "start", start)
    consumer.connection, consumer.restart_count = None, 1
    with pytest.raises(AttributeError, match="a setting"):
        consumer.start()


def test_what_was_not_acknowledged_is_not_given_back(consumer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    channel = SimpleNamespace(do_restore=True)
    consumer.connection = SimpleNamespace(_default_channel=channel)
    seen: list[bool] = []
    monkeypatch.setattr(
        Consumer, "on_connection_error_after_connected", lambda self, exc: seen.append(channel.do_restore)
    )
    consumer.on_connection_error_after_connected(OSError())
    assert seen == [False]


def test_ticks_of_a_newer_release_are_dropped_with_one_line_per_task(
    consumer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rejected: list[str] = []
    for name in ("feeds.new", "feeds.new", "feeds.newer"):
        message = SimpleNamespace(
            headers={"task": name}, reject_log_error=lambda *_, name=name: rejected.append(name)
        )
        consumer.on_unknown_task(b"", message, KeyError(name))
    assert rejected == ["feeds.new", "feeds.new", "feeds.newer"]
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert all(record.exc_info is None for record in caplog.records)


class Refusal(Exception):
    """Response of a broker to a wrong password."""


def test_a_broker_that_refuses_the_login_is_asked_again_and_told_of_once(
    consumer: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    refusals, connection = [Refusal("wrong password")] * 3, SimpleNamespace()
    connection.connection_errors, connection.channel_errors = (OSError,), (Refusal,)

    def connect(_: object, conn: object) -> object:
        if refusals:
            raise refusals.pop()
        return conn

    monkeypatch.setattr(Consumer, "ensure_connected", connect)
    assert consumer.ensure_connected(connection) is connection
    (record,) = caplog.records
    assert record.getMessage().endswith("Check CELERY_BROKER_URL: wrong password")
