"""A worker that was told to end does so, even while its database does not answer."""

import logging
import os
import threading
import time

log = logging.getLogger(__name__)

# Seconds that a worker has to end in good order, and then between two looks at whether the database is away.
GOODBYE_SECONDS, OUTAGE_LOOK_SECONDS = 8.0, 0.5
ENDED_WITHOUT_DATABASE = 1


def end_in_time(**_: object) -> None:
    """Receives Celery's worker_shutting_down."""
    threading.Thread(target=_watch, name="ending", daemon=True).start()


def _watch() -> None:
    """Ends the process while the database is away: threads that wait for it would keep it alive."""
    time.sleep(GOODBYE_SECONDS)
    # Imported here because a worker on SQLite needs nothing of PostgreSQL.
    from common.postgresql.patience import Away

    while not Away.database_unreachable:
        time.sleep(OUTAGE_LOOK_SECONDS)
    log.warning("The database is away: this worker ends without it. What it had is taken back in a minute.")
    os._exit(ENDED_WITHOUT_DATABASE)
