"""A send pass in a thread of its own, beside the test."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta

from django.db import connections

from common.clock import utcnow
from delivery.engine.send_pass import SendReport, send_due

AT_MOST = 30.0


@contextmanager
def sending(
    budget: timedelta | None = None, *, clock: Callable[[], datetime] = utcnow
) -> Iterator["Future[SendReport]"]:
    """Run a pass during the block; at its end, wait for the pass to end."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(_send, budget, clock)
        yield future
        future.result(AT_MOST)


def _send(budget: timedelta | None, clock: Callable[[], datetime]) -> SendReport:
    try:
        return send_due(budget=budget, clock=clock)
    finally:
        connections.close_all()


def wait_until(holds: Callable[[], bool], seconds: float = AT_MOST) -> None:
    """Wait until the condition holds. Raises AssertionError on timeout."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.01)
