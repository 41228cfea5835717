"""A worker stops on request even if its database is unreachable."""

import os
import time

import pytest

from common.postgresql.patience import Away
from feedletter_site import celery


class Ended(Exception):
    pass


@pytest.fixture(autouse=True)
def _quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    def end(status: int) -> None:
        raise Ended(status)

    monkeypatch.setattr(celery, "GOODBYE_SECONDS", 0)
    monkeypatch.setattr(os, "_exit", end)


def test_without_its_database_it_does_not_wait_for_what_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Away, "database_unreachable", True)
    with pytest.raises(Ended):
        celery._watch()


def test_with_its_database_it_has_the_time_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Away, "database_unreachable", False)
    looks: list[float] = []

    def sleep(seconds: float) -> None:
        looks.append(seconds)
        if len(looks) > 20:
            raise TimeoutError

    monkeypatch.setattr(time, "sleep", sleep)
    with pytest.raises(TimeoutError):
        celery._watch()
