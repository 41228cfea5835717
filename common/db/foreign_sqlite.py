"""Tables of an uploaded SQLite database.

Views and generated columns can compute endlessly, so a child process with limits reads ordinary tables only.
Imports no Django.
"""

import json
import resource
import socket
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from common.child_process import Child, framed, messages, set_limits

MAGIC = b"SQLite format 3\0"
LONGEST_VALUE = 1_000_000
MEMORY = 768 * 1024 * 1024
LARGEST_ANSWER = 768 * 1024 * 1024
CPU_SECONDS = 60
# Wall clock: machines may be busy.
SECONDS = 180.0
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION)


class UnreadableDatabase(Exception):
    """The message does not name the file."""


@dataclass(frozen=True, slots=True)
class ForeignTable:
    columns: tuple[str, ...]
    rows: list[list[Any]]


def read_tables(place: Path, wanted: Mapping[str, Sequence[str]]) -> dict[str, ForeignTable]:
    """Read the tables and columns that exist, in one transaction.

    Raises UnreadableDatabase, and OSError if the file cannot be opened.
    """
    with place.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise UnreadableDatabase("it is no SQLite database")
    job = json.dumps({"place": str(place.resolve()), "wanted": wanted}, default=list).encode()
    tables: dict[str, ForeignTable] = {}
    with suppress(OSError), closing(Child("common.db.foreign_sqlite")) as child:
        for message in map(json.loads, child.ask(job, seconds=SECONDS, most=LARGEST_ANSWER)):
            match message:
                case [table, *row]:
                    tables[table].rows.append(row)
                case {"columns": columns}:
                    tables = {name: ForeignTable(tuple(names), []) for name, names in columns.items()}
                case {"error": ""}:
                    return tables
                case {"error": error}:
                    raise UnreadableDatabase(error)
    raise UnreadableDatabase("reading it takes too much time or memory")


def serve(line: socket.socket) -> None:
    """Send the columns, the rows and the result."""
    job = json.loads(next(messages(line)))
    set_limits(
        {resource.RLIMIT_AS: MEMORY, resource.RLIMIT_CPU: CPU_SECONDS, resource.RLIMIT_FSIZE: LARGEST_ANSWER}
    )
    error, stream = "", line.makefile("wb")

    def send(value: Any) -> None:
        stream.write(framed(json.dumps(value).encode()))

    try:
        uri = f"file:{quote(job['place'])}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            _send_tables(connection, job["wanted"], send)
    except (sqlite3.Error, ValueError) as problem:
        error = f"{type(problem).__name__}: {problem}"[:500].encode("utf-8", "replace").decode()
    send({"error": error})
    stream.close()


def _send_tables(
    connection: sqlite3.Connection, wanted: Mapping[str, Sequence[str]], send: Callable[[Any], None]
) -> None:
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
    connection.text_factory = _text
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("BEGIN")
    # Views have another type, virtual tables no root page.
    ordinary = "SELECT lower(name) FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
    there = {name for (name,) in connection.execute(ordinary)}
    columns: dict[str, list[str]] = {}
    for table in wanted.keys() & there:
        # table_info omits generated columns.
        known = {str(row[1]).lower() for row in connection.execute(f'PRAGMA table_info("{table}")')}
        columns[table] = [name for name in wanted[table] if name in known]
    connection.set_authorizer(lambda action, table, *_: _verdict(action, table, columns))
    send({"columns": columns})
    for table, names in columns.items():
        asked = ", ".join(f'"{name}"' for name in names) or "NULL"
        for row in connection.execute(f'SELECT {asked} FROM main."{table}" NOT INDEXED'):  # noqa: S608 - our names
            send([table, *(_text(value) if isinstance(value, bytes) else value for value in row)])


def _verdict(action: int, table: str | None, columns: Mapping[str, object]) -> int:
    is_read = action == sqlite3.SQLITE_READ and (table or "").lower() in columns
    return sqlite3.SQLITE_OK if is_read or action in _ALLOWED else sqlite3.SQLITE_DENY


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
