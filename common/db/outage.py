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

# InternalError: a server that is no longer the primary.
DB_ERRORS = (OperationalError, InterfaceError, InternalError)
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
LONGEST_GOODBYE = 4.0
# Other workers' leases may have expired because they could not renew them either.
NO_REAPING_SECONDS = 60.0

_lost_at = -NO_REAPING_SECONDS


def was_away_lately() -> bool:
    return time.monotonic() - _lost_at < NO_REAPING_SECONDS


@contextmanager
def note_outage() -> Iterator[None]:
    global _lost_at
    try:
        yield
    except DB_ERRORS:
        _lost_at = time.monotonic()
        raise


def retry_until_stored(write: Callable[[], T]) -> T:
    """Run `write`, which must be idempotent, until the database accepts it.

    During shutdown it gives up after LONGEST_GOODBYE and raises.
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
