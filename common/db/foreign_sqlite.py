"""Tables of an uploaded SQLite database.

Views and generated columns can compute endlessly, so a child process with limits reads ordinary tables only.
Imports no Django.
"""

import json
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from common.child_limits import set_limits

MAGIC = b"SQLite format 3\0"
LONGEST_VALUE = 1_000_000
MEMORY = 768 * 1024 * 1024
LARGEST_ANSWER = 768 * 1024 * 1024
CPU_SECONDS = 60
# Wall clock: machines may be busy.
SECONDS = 180.0
_ROOT = str(Path(__file__).resolve().parents[2])
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from common.db.foreign_sqlite import serve; serve()"
_KEPT = ("PATH", "LD_LIBRARY_PATH")
_ALLOWED = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_TRANSACTION)


class UnreadableDatabase(Exception):
    """The message does not name the file."""


@dataclass(frozen=True, slots=True)
class Table:
    columns: tuple[str, ...]
    rows: list[list[Any]]


def read_tables(place: Path, wanted: Mapping[str, Sequence[str]]) -> dict[str, Table]:
    """Read the tables and columns that exist, in one transaction.

    Raises UnreadableDatabase, and OSError if the file cannot be opened.
    """
    with place.open("rb") as file:
        if file.read(len(MAGIC)) != MAGIC:
            raise UnreadableDatabase("it is no SQLite database")
    with tempfile.TemporaryFile() as answer:
        try:
            subprocess.run(  # noqa: S603 - our own interpreter and our own module
                [sys.executable, "-I", "-B", "-c", _BOOT, _ROOT],
                input=json.dumps({"place": str(place.resolve()), "wanted": wanted}, default=list).encode(),
                stdout=answer,
                stderr=subprocess.DEVNULL,
                env={name: os.environ[name] for name in _KEPT if name in os.environ},
                timeout=SECONDS,
                check=True,
                start_new_session=True,
            )
        except subprocess.SubprocessError:
            raise UnreadableDatabase("reading it takes too much time or memory") from None
        answer.seek(0)
        return _received(map(json.loads, answer))


def _received(lines: Iterator[Any]) -> dict[str, Table]:
    """The child writes all columns, the rows, the result."""
    head = next(lines)
    tables = {name: Table(tuple(columns), []) for name, columns in head.get("columns", {}).items()}
    for line in lines if "columns" in head else [head]:
        if isinstance(line, dict):
            if error := line["error"]:
                raise UnreadableDatabase(error)
            return tables
        tables[line[0]].rows.append(line[1:])
    raise UnreadableDatabase("reading it was cut off")


def serve() -> None:
    job = json.loads(sys.stdin.buffer.read())
    set_limits(
        {
            resource.RLIMIT_AS: MEMORY,
            resource.RLIMIT_CPU: CPU_SECONDS,
            resource.RLIMIT_FSIZE: LARGEST_ANSWER,
        }
    )
    error = ""
    try:
        uri = f"file:{quote(job['place'])}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            _send(connection, job["wanted"])
    except (sqlite3.Error, ValueError) as problem:
        error = f"{type(problem).__name__}: {problem}"[:500].encode("utf-8", "replace").decode()
    _write({"error": error})


def _send(connection: sqlite3.Connection, wanted: Mapping[str, Sequence[str]]) -> None:
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
    _write({"columns": columns})
    for table, names in columns.items():
        asked = ", ".join(f'"{name}"' for name in names) or "NULL"
        for row in connection.execute(f'SELECT {asked} FROM main."{table}" NOT INDEXED'):  # noqa: S608 - our names
            _write([table, *map(_plain, row)])


def _verdict(action: int, table: str | None, columns: Mapping[str, object]) -> int:
    is_read = action == sqlite3.SQLITE_READ and (table or "").lower() in columns
    return sqlite3.SQLITE_OK if is_read or action in _ALLOWED else sqlite3.SQLITE_DENY


def _plain(value: Any) -> Any:
    return _text(value) if isinstance(value, bytes) else value


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _write(value: Any) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
