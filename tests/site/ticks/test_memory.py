"""The in-memory broker: a waiting consumer gets a message at once, without polling."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kombu import Connection

from feedletter_site.ticks.memory import LONGEST_WAIT, Transport


@pytest.fixture
def broker() -> Iterator[Any]:
    with Connection("memory://localhost", transport=Transport) as connection:
        yield connection


def test_a_message_ends_the_wait(broker: Any) -> None:
    queue = broker.SimpleQueue("ticks")
    with Connection("memory://localhost", transport=Transport) as other:
        sender = other.SimpleQueue("ticks")
        threading.Timer(0.05, lambda: sender.put("tick")).start()
        # A consumer that is not woken gives up after LONGEST_WAIT.
        assert queue.get(timeout=100 * LONGEST_WAIT).payload == "tick"


def test_nobody_waits_so_long_that_a_stop_is_not_seen(broker: Any) -> None:
    broker.SimpleQueue("silent").consumer.consume()
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        broker.drain_events(timeout=100 * LONGEST_WAIT)
    assert time.monotonic() - started < 50 * LONGEST_WAIT
