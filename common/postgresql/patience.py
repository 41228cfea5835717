"""PostgreSQL connection that notices a silent server.

Keepalives and TCP_USER_TIMEOUT detect hosts that answer no packet. A proxy, or a host whose PostgreSQL hangs,
answers them: only another connection can check the statement.
"""

import logging
import time
from collections.abc import Generator
from typing import Any

import psycopg
from psycopg import OperationalError
from psycopg.errors import _WaitTimeout

from common.counters import count
from common.shutdown import stopping

log = logging.getLogger(__name__)

# Seconds without an answer until another connection checks.
SILENCE, SILENCE_WHEN_STOPPING = 8.0, 2.0
# Seconds for that connection, and between checks for shutdown.
PATIENCE, LOOK_EVERY = 3, 1.0
# Behind a pooler our server process is unknown, so the wait ends after this.
LONGEST_BY_POOLER = 120.0
NOTHING_READY = 0


class Away:
    database_unreachable: bool = False


class PatientConnection(psycopg.Connection[Any]):
    place: dict[str, Any]

    def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        began, asked_at = time.monotonic(), 0.0
        waiting = gen
        while True:
            try:
                return super().wait(waiting, interval, LOOK_EVERY)
            except _WaitTimeout as timed_out:
                silent = time.monotonic() - began
                patience = SILENCE_WHEN_STOPPING if stopping.is_set() else SILENCE
                if silent - asked_at >= patience:
                    asked_at = silent
                    if not self._is_at_work(silent):
                        Away.database_unreachable = True
                        count("trouble", "database_silent")
                        self.pgconn.finish()
                        raise OperationalError(
                            f"the database has not answered for {silent:.0f} seconds"
                        ) from timed_out
                waiting = _resumed(gen)

    def _is_at_work(self, silent: float) -> bool:
        try:
            place = {**self.place, "connect_timeout": PATIENCE, "autocommit": True}
            with psycopg.connect(**place) as other:
                row = other.execute(
                    "SELECT state FROM pg_stat_activity WHERE pid = %s", [self.info.backend_pid]
                ).fetchone()
        except psycopg.Error as error:
            log.info("the database does not answer another connection either: %s", error)
            return False
        if self.prepare_threshold is None:
            return silent < LONGEST_BY_POOLER
        return row is not None and row[0] == "active"


def _resumed(gen: Any) -> Generator[Any, Any, Any]:
    state = gen.send(NOTHING_READY)
    while True:
        try:
            state = gen.send((yield state))
        except StopIteration as end:
            return end.value
