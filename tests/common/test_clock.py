"""One clock for all machines: the database's."""

import logging
import time
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection

from common import clock
from common.clock import Drift, behind, set_by, utcnow


@pytest.fixture(autouse=True)
def _unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock._Shared, "since", None)
    monkeypatch.setattr(clock._Shared, "is_told", False)


def far(seconds: float) -> float:
    return abs((utcnow() - datetime.now(UTC)).total_seconds() - seconds)


def test_without_a_measurement_it_is_this_machines_clock() -> None:
    assert far(0) < 0.1
    assert behind() == 0


@pytest.mark.parametrize("seconds", [-3600, -5, 5, 3600])
def test_a_machine_whose_clock_is_wrong_goes_by_the_databases(seconds: float) -> None:
    set_by(time.time() + seconds, at=clock.uptime())
    assert far(seconds) < 0.1
    assert behind() == pytest.approx(seconds, abs=0.1)


def test_a_clock_that_is_moved_between_two_measurements_moves_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_by(time.time(), at=clock.uptime())
    before = utcnow()
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    assert abs(utcnow() - before) < timedelta(seconds=1)


def test_a_small_difference_is_let_be() -> None:
    set_by(time.time() + 0.3, at=clock.uptime())
    assert far(0) < 0.1


def test_a_wrong_clock_is_told_of_once_and_when_it_is_right_again(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "common.clock"):
        for seconds in (0.0, -3600.0, -3601.0, 0.0, 0.0, 5.0):
            set_by(time.time() + seconds, at=clock.uptime())
    assert caplog.messages == [
        "This machine's clock is 3600 seconds ahead of the database's, which is used instead.",
        "This machine's clock is right again.",
        "This machine's clock is 5 seconds behind the database's, which is used instead.",
    ]


def test_a_move_of_the_clock_is_noticed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    drift, real = Drift(), time.time
    assert drift.moved() == 0
    monkeypatch.setattr(time, "time", lambda: real() - 3600)
    assert drift.moved() == pytest.approx(-3600, abs=0.1)
    assert drift.moved() == 0


@pytest.mark.usefixtures("commits")
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's clock is this machine's")
def test_each_new_connection_measures_the_databases_clock() -> None:
    connection.close()
    connection.ensure_connection()
    since = clock.since()
    assert since is not None
    assert abs(since + clock.uptime() - time.time()) < 1
