"""While the database is away, outcomes stay in memory; when it is back, nothing is reaped for a minute."""

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from django.db import InterfaceError, InternalError, OperationalError, connection

from common.counters import count
from common.shutdown import stopping

log = logging.getLogger(__name__)
T = TypeVar("T")

# InternalError: a server that is not the primary any more answers so (read-only transaction).
DB_ERRORS = (OperationalError, InterfaceError, InternalError)
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
# Seconds for which a process that was told to end tries to write what it knows.
LONGEST_GOODBYE = 4.0
# Other workers' leases may have run out only because they could not renew them either.
NO_REAPING_SECONDS = 60.0

_lost_at = -NO_REAPING_SECONDS


def was_away_lately() -> bool:
    """Whether this process lost the database within the last minute."""
    return time.monotonic() - _lost_at < NO_REAPING_SECONDS


@contextmanager
def note_outage() -> Iterator[None]:
    """Remembers a loss of the database within the block, and lets the error pass."""
    global _lost_at
    try:
        yield
    except DB_ERRORS:
        _lost_at = time.monotonic()
        raise


def retry_until_stored(write: Callable[[], T]) -> T:
    """Runs the write, which must be safe to repeat, until the database takes it.

    A process that was told to end gives up after a few seconds.
    """
    pause, failed_at = FIRST_PAUSE, 0.0
    while True:
        try:
            with note_outage():
                return write()
        except DB_ERRORS as error:
            failed_at = failed_at or time.monotonic()
            if stopping.is_set() and time.monotonic() - failed_at >= LONGEST_GOODBYE:
                log.warning("the database is away, and this process ends: what was accepted may go out again")
                raise
            count("trouble", "database_away")
            log.warning("the database is away; outcomes are kept and written when it is back: %s", error)
        connection.close()
        stopping.wait(pause) if not stopping.is_set() else time.sleep(FIRST_PAUSE)
        pause = min(pause * 2, LONGEST_PAUSE)
