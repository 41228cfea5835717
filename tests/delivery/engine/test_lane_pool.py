"""The measured rate of a lane's sender, by which it gets enough tasks."""

import time
from queue import SimpleQueue
from types import SimpleNamespace
from typing import Any, cast

import pytest

from delivery.engine.claimer import RATE_KNOWN_AFTER, PooledLane
from delivery.rules.lanes import EXPECTED_RATE


def lane(ended: int, *, seconds: float, width: int) -> PooledLane:
    sender = cast(Any, SimpleNamespace(width=width))
    return PooledLane(sender, SimpleQueue(), ended=ended, opened_at=time.monotonic() - seconds)


def test_a_rate_is_of_one_connection_and_one_second() -> None:
    assert lane(2_000, seconds=10, width=4).rate == pytest.approx(50, rel=0.1)


def test_until_enough_was_sent_and_when_it_goes_slowly_a_usual_rate_is_expected() -> None:
    assert lane(RATE_KNOWN_AFTER - 1, seconds=0.001, width=1).rate == EXPECTED_RATE
    assert lane(RATE_KNOWN_AFTER, seconds=3_600, width=1).rate == EXPECTED_RATE
