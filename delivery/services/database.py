"""While the database is away, outcomes stay in memory; when it is back, nothing is reaped for a minute."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection

log = logging.getLogger(__name__)
T = TypeVar("T")

# InternalError: a server that is not the primary any more answers so (read-only transaction).
AWAY = (OperationalError, InterfaceError, InternalError)
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# Other workers' leases may have run out only because they could not renew them either.
NO_REAPING_SECONDS = 60.0

_lost_at = -NO_REAPING_SECONDS


def was_away_lately() -> bool:
    """Whether this process lost the database within the last minute."""
    return time.monotonic() - _lost_at < NO_REAPING_SECONDS


@contextmanager
def noticing_loss() -> Iterator[None]:
    """Remembers a loss of the database within the block, and lets the error pass."""
    global _lost_at
    try:
        yield
    except AWAY:
        _lost_at = time.monotonic()
        raise


def durably(write: Callable[[], T]) -> T:
    """Runs the write, which must be safe to repeat, until the database takes it."""
    pause = FIRST_PAUSE
    while True:
        try:
            with noticing_loss():
                return write()
        except AWAY as error:
            log.warning("the database is away; outcomes are kept and written when it is back: %s", error)
        connection.close()
        time.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)
