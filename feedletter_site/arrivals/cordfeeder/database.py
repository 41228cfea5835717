"""CordFeeder's database as it is on the disk, read with care and never written.

`feeds` id, url, name, channel_id, guild_id, added_by, created_at, last_poll_at and more; in older ones
`feed_state` has the times of polls. `posted_items` feed_id, item_guid, posted_at, message_id, which is empty
where the post was there when the feed was added.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from common.refused import Refused

# What SQLite begins a file with.
MAGIC = b"SQLite format 3\0"
LONGEST_VALUE = 1_000_000
NEEDED: Mapping[str, frozenset[str]] = {
    "feeds": frozenset({"id", "url", "name", "channel_id", "guild_id", "added_by", "created_at"}),
    "posted_items": frozenset({"feed_id", "item_guid", "posted_at", "message_id"}),
}


@dataclass(frozen=True, slots=True)
class OldRow:
    """A row of `feeds` with its `posted` (guid, time, message), all as they stand there."""

    values: Mapping[str, Any]
    posted: tuple[tuple[Any, Any, Any], ...]


def read_rows(place: Path) -> list[OldRow]:
    """All feeds of all servers, in the order of their ids, as they stood at one moment. Raises Refused."""
    with _opened(place) as connection:
        columns = {table: _columns(connection, table) for table in ("feeds", "posted_items", "feed_state")}
        for table, needed in NEEDED.items():
            if missing := sorted(needed - columns[table]):
                raise Refused(
                    f"{place} is no database of CordFeeder's: its table {table} has no {', '.join(missing)}."
                )
        polled = "f.last_poll_at" if "last_poll_at" in columns["feeds"] else "NULL"
        if polled == "NULL" and {"feed_id", "last_poll_at"} <= columns["feed_state"]:
            polled = "(SELECT max(s.last_poll_at) FROM feed_state s WHERE s.feed_id = f.id)"
        names = sorted(NEEDED["feeds"])
        asked = ", ".join(f"f.{name}" for name in names)
        feeds = connection.execute(f"SELECT {asked}, {polled} FROM feeds f ORDER BY f.id").fetchall()  # noqa: S608
        return [
            OldRow(
                dict(zip((*names, "last_poll_at"), feed, strict=True)),
                tuple(connection.execute(POSTED, (feed[names.index("id")],))),
            )
            for feed in feeds
        ]


POSTED = "SELECT item_guid, posted_at, message_id FROM posted WHERE feed_id = ? ORDER BY rowid"


@contextmanager
def _opened(place: Path) -> Iterator[sqlite3.Connection]:
    """Read-only, with what stands in its -wal file; in one transaction. Raises Refused."""
    try:
        with place.open("rb") as file:
            is_database = file.read(len(MAGIC)) == MAGIC
    except OSError as error:
        raise Refused(f"{place} cannot be read: {error.strerror}. Give its DATABASE_PATH.") from error
    if not is_database:
        raise Refused(f"{place} is no SQLite database. Give the file that CordFeeder's DATABASE_PATH names.")
    try:
        uri = f"file:{quote(str(place.resolve()))}?mode=ro"
        with closing(sqlite3.connect(uri, uri=True, isolation_level=None)) as connection:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
            connection.text_factory = _text
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute("BEGIN")
            # Nobody knows which indexes it has.
            connection.execute(
                "CREATE TEMP TABLE posted AS SELECT feed_id, item_guid, posted_at, message_id"
                " FROM posted_items ORDER BY posted_at"
            )
            connection.execute("CREATE INDEX temp.posted_by_feed ON posted (feed_id)")
            yield connection
    except sqlite3.Error as error:
        raise Refused(
            f"{place} cannot be read as CordFeeder's database ({error}). Stop CordFeeder, and copy the file"
            " with those beside it that end in -wal and -shm to a folder that you may write to."
        ) from error


def _columns(connection: sqlite3.Connection, table: str) -> frozenset[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return frozenset(str(name) for (name,) in rows)


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")
