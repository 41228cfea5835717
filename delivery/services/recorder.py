"""Records acceptances where they arrive: in the loop process, by a connection to the database of its own.

Nearly all that ends was accepted, by a lane that is well. To have the worker record it took longer than all
the rest of a letter, while its connection waited. Whatever else ends, and whatever cannot be recorded here,
the worker records.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar

import psycopg
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName

from delivery.services.accepted_rows import AcceptedRow, parameters, remote_id_of, statement

log = logging.getLogger(__name__)

SENT = "sent"
VENDOR = "postgresql"
STATEMENT = statement(VENDOR)
# Seconds until what the database does not answer is left to the worker, and until it is asked again.
PATIENCE, REST = 20.0, 1.0


class Accepted(Protocol):
    """What is recorded of a message."""

    token: str
    at: datetime | None

    @property
    def pk(self) -> int: ...

    @property
    def remote_id(self) -> str: ...


T = TypeVar("T", bound=Accepted)


class Recorder(Generic[T]):
    """One statement after the other, each for all that has gathered meanwhile.

    `on_end` is given them, and whether they are durable now. Those that are not may have been recorded all
    the same: to record them again does no harm.
    """

    def __init__(self, place: Mapping[str, Any], on_end: Callable[[Sequence[T], bool], None]) -> None:
        # (To parse and plan it for every group takes a third of the database's time for it. The plan stays,
        # so it must not be one for a table that was small.)
        options = f"{place.get('options', '')} -c enable_seqscan=off".strip()
        self._place = {"prepare_threshold": None, **place, "autocommit": True, "options": options}
        self._on_end = on_end
        self._waiting: list[T] = []
        self._work: asyncio.Task[None] | None = None
        self._connection: psycopg.AsyncConnection[Any] | None = None
        self._resting_until = 0.0

    def take(self, tasks: Sequence[T]) -> None:
        self._waiting += tasks
        if self._work is None:
            self._work = asyncio.get_running_loop().create_task(self._record_all())

    async def close(self) -> None:
        """Until something is taken again."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _record_all(self) -> None:
        try:
            while self._waiting:
                tasks, self._waiting = self._waiting, []
                self._on_end(tasks, await self._record(tasks))
        finally:
            self._work = None

    async def _record(self, tasks: Sequence[T]) -> bool:
        now = asyncio.get_running_loop().time()
        if now < self._resting_until:
            return False
        try:
            async with asyncio.timeout(PATIENCE):
                connection = await self._connected()
                cursor = await connection.execute(STATEMENT, parameters(VENDOR, _rows(tasks)))
        except Exception as error:  # noqa: BLE001 - the worker tries, and says what is wrong
            log.info("acceptances are left to the worker: %s", error)
            if isinstance(error, (DuplicatePreparedStatement, InvalidSqlStatementName)):
                # A pooler gives each statement to another connection.
                self._place["prepare_threshold"] = None
            self._resting_until = now + REST
            await self.close()
            return False
        return cursor.rowcount == len(tasks)

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        if self._connection is None:
            self._connection = await psycopg.AsyncConnection.connect(**self._place)
        return self._connection


def _rows(tasks: Sequence[Accepted]) -> list[AcceptedRow]:
    return [
        AcceptedRow(task.pk, task.token, str(task.at), remote_id_of(task.remote_id), SENT) for task in tasks
    ]
