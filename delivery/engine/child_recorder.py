"""Records acceptances in the child process, over its database connections.

Recording in the worker took longer than the rest of a letter, while its connection waited. Other outcomes,
and failures to record, go to the worker.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

import psycopg
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName

from channels.base import Sent
from delivery.engine.accept_sql import ACCEPT_AND_LOOK, AcceptedRow, parameters, remote_id_of
from delivery.engine.child_task import ChildTask

log = logging.getLogger(__name__)

VENDOR = "postgresql"
# Seconds to wait for the database before the worker records, and until the next try.
PATIENCE, REST = 8.0, 1.0
# Seconds after which waiting acceptances use another connection. Several help with a distant database, which
# is slow on the way. A near one is busy, and larger groups are a tenth cheaper per letter.
HASTE, HASTE_WHERE_NEAR, NEAR = 0.005, 0.05, 0.003
MOST_RECORDING_CONNECTIONS = 4


class Recorder:
    """Record gathered acceptances, in several statements at a time while the database is slow.

    `on_end` gets the tasks and whether they are durable. Recording a task twice is harmless. Tasks of paused
    or cancelled issues are `recalled`.
    """

    def __init__(self, place: Mapping[str, Any], on_end: Callable[[Sequence[ChildTask], bool], None]) -> None:
        # The plan is kept, as parsing and planning take a third of the database's time. It must not be one
        # for a small table.
        options = f"{place.get('options', '')} -c enable_seqscan=off".strip()
        self._place = {"prepare_threshold": None, **place, "autocommit": True, "options": options}
        self._on_end = on_end
        self._waiting: list[ChildTask] = []
        self._work: set[asyncio.Task[None]] = set()
        self._begun_at = 0.0
        # The fastest answer so far.
        self._trip = 0.0
        self._later: asyncio.TimerHandle | None = None
        self._idle: list[psycopg.AsyncConnection[Any]] = []
        self._resting_until = 0.0

    def take(self, tasks: Sequence[ChildTask]) -> None:
        self._waiting += tasks
        self._begin()

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    def _begin(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        if not self._waiting or len(self._work) >= MOST_RECORDING_CONNECTIONS:
            return
        loop = asyncio.get_running_loop()
        haste = HASTE if self._trip > NEAR else HASTE_WHERE_NEAR
        wait = self._begun_at + haste - loop.time() if self._work else 0
        if wait > 0:
            self._later = loop.call_later(wait, self._begin)
            return
        tasks, self._waiting = self._waiting, []
        self._begun_at = loop.time()
        self._work.add(loop.create_task(self._carry(tasks)))

    async def _carry(self, tasks: Sequence[ChildTask]) -> None:
        try:
            self._on_end(tasks, await self._record(tasks))
        finally:
            self._work.discard(asyncio.current_task())
            self._begin()

    async def _record(self, tasks: Sequence[ChildTask]) -> bool:
        clock = asyncio.get_running_loop().time
        now = clock()
        if now < self._resting_until:
            return False
        connection = None
        try:
            rows = [
                AcceptedRow(task.pk, task.token, str(task.at), remote_id_of(task.outcome.remote_id), "sent")
                for task in tasks
                if isinstance(task.outcome, Sent)
            ]
            async with asyncio.timeout(PATIENCE):
                if self._idle:
                    connection = self._idle.pop()
                else:
                    connection = await psycopg.AsyncConnection.connect(**self._place)
                asked_at = clock()
                cursor = await connection.execute(ACCEPT_AND_LOOK, parameters(VENDOR, rows))
                self._trip = min(self._trip or inf, clock() - asked_at)
                ours, stopped = await cursor.fetchone() or (0, ())
        except Exception as error:  # noqa: BLE001 - the worker tries, and says what is wrong
            log.info("acceptances are left to the worker: %s", error)
            if isinstance(error, (DuplicatePreparedStatement, InvalidSqlStatementName)):
                # A pooler runs each statement on another connection.
                self._place["prepare_threshold"] = None
            self._resting_until = now + REST
            self._idle += [connection] if connection is not None else []
            await self.close()
            return False
        self._idle.append(connection)
        if stopped:
            for task in tasks:
                task.recalled = task.issue in stopped
        return bool(ours == len(tasks))
