"""CordFeeder's database as it is on the disk, never written.

`feeds` id, url, name, channel_id, guild_id, added_by, created_at, last_poll_at and more; in older ones
`feed_state` has the times of polls. `posted_items` feed_id, item_guid, posted_at, message_id, which is empty
where the post was there when the feed was added.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from common.db.foreign_sqlite import Table, UnreadableDatabase, read_tables
from common.refused import Refused

NEEDED: Mapping[str, tuple[str, ...]] = {
    "feeds": ("id", "url", "name", "channel_id", "guild_id", "added_by", "created_at"),
    "posted_items": ("feed_id", "item_guid", "posted_at", "message_id"),
}
WANTED = {
    **NEEDED,
    "feeds": (*NEEDED["feeds"], "last_poll_at"),
    "feed_state": ("feed_id", "last_poll_at"),
}


@dataclass(frozen=True, slots=True)
class OldRow:
    """A row of `feeds` with its `posted` (guid, time, message), with the values of the database."""

    values: Mapping[str, Any]
    posted: tuple[tuple[Any, Any, Any], ...]


def read_rows(place: Path) -> list[OldRow]:
    """Return all feeds of all servers, in the order of their ids. Raises Refused."""
    tables = _tables(place)
    for name, needed in NEEDED.items():
        columns = tables[name].columns if name in tables else ()
        if missing := sorted(set(needed) - set(columns)):
            raise Refused(
                f"{place} is no database of CordFeeder's: its table {name} has no {', '.join(missing)}."
            )
    feeds, state = tables["feeds"], tables.get("feed_state")
    polls: dict[Any, Any] = {}
    if "last_poll_at" not in feeds.columns and state and len(state.columns) == 2:
        for feed, at in state.rows:
            polls[feed] = max(filter(None, (polls.get(feed), at)), key=_sort_key, default=None)
    posted = defaultdict(list)
    for feed, *rest in sorted(tables["posted_items"].rows, key=lambda row: _sort_key(row[2])):
        posted[feed].append(tuple(rest))
    rows = [dict(zip(feeds.columns, row, strict=True)) for row in feeds.rows]
    return [
        OldRow({"last_poll_at": polls.get(row["id"]), **row}, tuple(posted[row["id"]]))
        for row in sorted(rows, key=lambda row: _sort_key(row["id"]))
    ]


def _tables(place: Path) -> dict[str, Table]:
    try:
        return read_tables(place, WANTED)
    except OSError as error:
        raise Refused(f"{place} cannot be read: {error.strerror}. Give its DATABASE_PATH.") from error
    except UnreadableDatabase as error:
        raise Refused(
            f"{place} cannot be read as CordFeeder's database ({error}). Give the file that its DATABASE_PATH"
            " names. Stop CordFeeder, and copy the file with those beside it that end in -wal and -shm to a"
            " folder that you may write to."
        ) from error


def _sort_key(value: Any) -> tuple[int, Any]:
    """Order values as SQLite does: NULL, numbers, texts."""
    if value is None:
        return 0, 0
    return (1, value) if isinstance(value, int | float) else (2, str(value))
