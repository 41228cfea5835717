"""Records acceptances for the child process. Imports no Django.

Each statement goes to libpq directly, and its answer comes by callback: psycopg's coroutines and cursors take
the client twice as long as the rest.
"""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from math import inf
from typing import Any, NamedTuple

import psycopg
from psycopg.errors import DuplicatePreparedStatement, InvalidSqlStatementName, error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from channels.base import Sent
from common.db.arrays import array_literal
from delivery.engine.accept_sql import ACCEPT_AND_LOOK, remote_id_of
from delivery.engine.child_protocol import ChildTask

# Seconds to wait for the database before the worker records, and until the next try.
PATIENCE, REST = 8.0, 1.0
# Seconds after which waiting acceptances use another connection. Several help with a distant database, which
# is slow on the way. A near one is busy, and larger groups are a tenth cheaper per letter.
HASTE, HASTE_WHERE_NEAR, NEAR = 0.005, 0.05, 0.003
MOST_RECORDING_CONNECTIONS = 4
_STATEMENT = ACCEPT_AND_LOOK.encode()
_NAME = b"accept"
log = logging.getLogger(__name__)


class Recorder:
    """Record gathered acceptances, in several statements at a time while the database is slow.

    `on_end` gets the tasks and whether they are durable. Recording a task twice is harmless. Tasks of paused
    or cancelled issues are `recalled`.
    """

    def __init__(self, place: Mapping[str, Any], on_end: Callable[[Sequence[ChildTask], bool], None]) -> None:
        # The plan is kept, as parsing and planning take a third of the database's time. It must not be one
        # for a small table.
        plan = "-c enable_seqscan=off -c plan_cache_mode=force_generic_plan"
        options = f"{place.get('options', '')} {plan}".strip()
        self._place = {**place, "autocommit": True, "options": options, "prepare_threshold": None}
        # None behind a pooler.
        self._prepares = place.get("prepare_threshold") is not None
        self._on_end = on_end
        self._waiting: list[ChildTask] = []
        self._connecting: set[asyncio.Task[None]] = set()
        self._busy: set[Statement] = set()
        self._idle: list[Statement] = []
        self._begun_at = 0.0
        # The fastest answer so far.
        self._trip = inf
        self._later: asyncio.TimerHandle | None = None
        self._resting_until = 0.0

    def take(self, tasks: Sequence[ChildTask]) -> None:
        self._waiting += tasks
        self._begin()

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _begin(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None
        under_way = len(self._busy) + len(self._connecting)
        if not self._waiting or under_way >= MOST_RECORDING_CONNECTIONS:
            return
        loop = asyncio.get_running_loop()
        now = loop.time()
        haste = HASTE if NEAR < self._trip < inf else HASTE_WHERE_NEAR
        wait = self._begun_at + haste - now if under_way else 0
        if wait > 0:
            self._later = loop.call_later(wait, self._begin)
            return
        tasks, self._waiting = self._waiting, []
        self._begun_at = now
        if now < self._resting_until:
            self._on_end(tasks, False)
        elif self._idle:
            self._execute(self._idle.pop(), tasks)
        else:
            connecting = loop.create_task(self._connect(tasks))
            self._connecting.add(connecting)
            connecting.add_done_callback(self._connecting.discard)

    async def _connect(self, tasks: Sequence[ChildTask]) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                connection = await psycopg.AsyncConnection.connect(**self._place)
        except Exception as error:  # noqa: BLE001 - the worker tries, and says what is wrong
            self._leave_to_worker(tasks, error)
        else:
            self._execute(Statement(connection, self._hear, is_prepared=self._prepares), tasks)

    def _execute(self, statement: "Statement", tasks: Sequence[ChildTask]) -> None:
        self._busy.add(statement)
        statement.execute(tasks)

    def _hear(self, statement: "Statement", tasks: Sequence[ChildTask], answer: "Answer | Exception") -> None:
        if not tasks:
            # The database closed an idle connection.
            self._idle.remove(statement)
            return
        self._busy.discard(statement)
        if isinstance(answer, Exception):
            statement.close()
            if isinstance(answer, (DuplicatePreparedStatement, InvalidSqlStatementName)):
                # A pooler runs each statement on another connection.
                self._prepares = False
            self._leave_to_worker(tasks, answer)
        else:
            self._idle.append(statement)
            self._trip = min(self._trip, statement.seconds)
            if answer.stopped:
                for task in tasks:
                    task.recalled = task.issue in answer.stopped
            self._on_end(tasks, answer.recorded == len(tasks))
        self._begin()

    def _leave_to_worker(self, tasks: Sequence[ChildTask], error: Exception) -> None:
        log.info("acceptances are left to the worker: %s", error)
        self._resting_until = asyncio.get_running_loop().time() + REST
        self.close()
        self._on_end(tasks, False)


class Answer(NamedTuple):
    """Number of recorded acceptances, and their issues that are paused or cancelled."""

    recorded: int
    stopped: frozenset[int]


Heard = Callable[["Statement", Sequence[ChildTask], Answer | Exception], None]


class Statement:
    """The statement on one connection. `hear` gets its row or error; no tasks if an idle connection ends."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], hear: Heard, *, is_prepared: bool) -> None:
        self._libpq, self._hear = connection.pgconn, hear
        self._loop = asyncio.get_running_loop()
        self._is_prepared, self._is_new = is_prepared, True
        self._tasks: Sequence[ChildTask] = ()
        self._answer: PGresult | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self._begun_at = self.seconds = 0.0
        self._file, self._is_closed = self._libpq.socket, False
        self._loop.add_reader(self._file, self._read)

    def execute(self, tasks: Sequence[ChildTask]) -> None:
        self._tasks, self._answer = tasks, None
        self._begun_at = self._loop.time()
        self._deadline = self._loop.call_later(PATIENCE, self._end, TimeoutError("it took too long"))
        try:
            if self._is_prepared and self._is_new:
                self._libpq.send_prepare(_NAME, _STATEMENT)
            else:
                self._send()
            self._flush()
        except psycopg.Error as error:
            self._loop.call_soon(self._end, error)

    def _send(self) -> None:
        self._is_new = False
        if self._is_prepared:
            self._libpq.send_query_prepared(_NAME, statement_parameters(self._tasks))
        else:
            self._libpq.send_query_params(_STATEMENT, statement_parameters(self._tasks))

    def _flush(self) -> None:
        if self._libpq.flush():
            self._loop.add_writer(self._file, self._flush)
        else:
            self._loop.remove_writer(self._file)

    def _read(self) -> None:
        try:
            self._libpq.consume_input()
            while self._tasks and not self._libpq.is_busy():
                if (result := self._libpq.get_result()) is not None:
                    self._answer = result
                elif self._is_new and self._answer and self._answer.status == ExecStatus.COMMAND_OK:
                    self._send()
                    self._flush()
                else:
                    self._end(read_answer(self._answer))
        except psycopg.Error as error:
            self._end(error)

    def _end(self, answer: Answer | Exception) -> None:
        if self._is_closed:
            return
        if self._deadline is not None:
            self._deadline.cancel()
        if isinstance(answer, Exception):
            self.close()
        self.seconds = self._loop.time() - self._begun_at
        tasks, self._tasks = self._tasks, ()
        self._hear(self, tasks, answer)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._loop.remove_reader(self._file)
            self._loop.remove_writer(self._file)
            self._libpq.finish()


def read_answer(result: PGresult | None) -> Answer | Exception:
    if result is None:
        return psycopg.OperationalError("it gave no answer")
    if result.status != ExecStatus.TUPLES_OK:
        return error_from_result(result)
    stopped = re.findall(rb"\d+", result.get_value(0, 1) or b"")
    return Answer(int(result.get_value(0, 0) or 0), frozenset(map(int, stopped)))


def statement_parameters(tasks: Sequence[ChildTask]) -> list[bytes]:
    """Return columns of keys, tokens, times and remote ids, as array literals."""
    written: dict[datetime, str] = {}
    for task in tasks:
        if task.at not in written:
            written[task.at] = f'"{task.at}"'
    names = [task.outcome.remote_id for task in tasks if isinstance(task.outcome, Sent)]
    columns = (
        f"{{{','.join([str(task.pk) for task in tasks])}}}",
        f"{{{','.join([task.token for task in tasks])}}}",
        f"{{{','.join([written[task.at] for task in tasks])}}}",
        array_literal(map(remote_id_of, names)),
    )
    return [column.encode() for column in columns]
