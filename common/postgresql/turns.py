"""Lock across transactions that works behind a pooler."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

MIGRATING = 20_261_126
LOOK_EVERY = 0.5


@contextmanager
def alone(connection: BaseDatabaseWrapper, *, waiting: Callable[[], object]) -> Iterator[None]:
    """Run the block while no other process does so on this PostgreSQL database.

    `waiting` is called once if another has the lock. A transaction on another connection holds it, because a
    pooler may give a session's lock to another client.
    """
    if connection.vendor != "postgresql":
        yield
        return
    holder = connection.copy()
    try:
        holder.set_autocommit(False)
        with holder.cursor() as cursor:
            cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            is_first_look = True
            while not _is_ours(cursor):
                if is_first_look:
                    waiting()
                is_first_look = False
                time.sleep(LOOK_EVERY)
        yield
    finally:
        holder.close()


def _is_ours(cursor: Any) -> bool:
    cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [MIGRATING])
    return bool(cursor.fetchone()[0])
