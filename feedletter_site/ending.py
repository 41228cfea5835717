"""A worker that was told to end does so, even when its database is gone without a word."""

import logging
import os
import threading
import time

log = logging.getLogger(__name__)

# Seconds for ending in good order while the database is away, and between two looks at whether it is.
GOODBYE, LOOK_EVERY = 8.0, 0.5
ENDED_WITHOUT_DATABASE = 1


def end_in_time(**_: object) -> None:
    """Receives Celery's worker_shutting_down."""
    threading.Thread(target=_watch, name="ending", daemon=True).start()


def _watch() -> None:
    """Threads that wait for the database would keep the process for as long as they try."""
    time.sleep(GOODBYE)
    # (Here: a worker on SQLite needs nothing of PostgreSQL.)
    from common.postgresql.patience import Away

    while not Away.is_so:
        time.sleep(LOOK_EVERY)
    log.warning("The database is away: this worker ends without it. What it had is taken back in a minute.")
    os._exit(ENDED_WITHOUT_DATABASE)
