"""CordFeeder databases, in its present schema and the older one."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

POLLS = (
    "etag TEXT, last_modified TEXT, last_poll_at TEXT, next_poll_at TEXT, poll_interval INTEGER,"
    " consecutive_errors INTEGER DEFAULT 0, last_error TEXT"
)
FEEDS = (
    "id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, name TEXT, channel_id INTEGER NOT NULL,"
    " guild_id INTEGER NOT NULL, added_by INTEGER, created_at TEXT NOT NULL"
)
POSTED = (
    "CREATE TABLE posted_items (id INTEGER PRIMARY KEY, feed_id INTEGER NOT NULL, item_guid TEXT,"
    " posted_at TEXT, message_id INTEGER, UNIQUE(feed_id, item_guid))"
)


@dataclass
class OldFeed:
    """Feed of a server. `sent` are guids that have a message; `there` were present when it was added."""

    url: Any
    guild: Any
    channel: Any
    created_at: datetime
    polled_at: datetime | None
    name: str | None = "Bees"
    sent: tuple[str, ...] = ()
    there: tuple[str, ...] = ()
    number: int | None = None
    added_by: int = 42
    sent_at: list[datetime] = field(default_factory=list)


def write_database(path: Path, feeds: list[OldFeed], *, is_old: bool = False) -> Path:
    """Create a database or add to one. The last rows stay in the -wal file, as after a kill."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'feeds'").fetchone():
            polls = "" if is_old else f", {POLLS}"
            connection.execute(f"CREATE TABLE feeds ({FEEDS}{polls}, UNIQUE(url, guild_id))")
            connection.execute(POSTED)
            if is_old:
                connection.execute(f"CREATE TABLE feed_state (feed_id INTEGER PRIMARY KEY, {POLLS})")
        for feed in feeds:
            add(connection, feed, is_old=is_old)
        # A second open connection keeps the first one's close from writing back everything.
        with closing(sqlite3.connect(path)) as other:
            other.execute("SELECT count(*) FROM feeds").fetchone()
            connection.close()
            copies = {name: (path.parent / name).read_bytes() for name in (path.name, f"{path.name}-wal")}
    for name, content in copies.items():
        (path.parent / name).write_bytes(content)
    return path


def add(connection: sqlite3.Connection, feed: OldFeed, *, is_old: bool) -> None:
    values = (feed.number, feed.url, feed.name, feed.channel, feed.guild, feed.added_by)
    polled = feed.polled_at.isoformat() if feed.polled_at else None
    number = connection.execute(
        "INSERT INTO feeds (id, url, name, channel_id, guild_id, added_by, created_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING id",
        (*values, feed.created_at.isoformat() if isinstance(feed.created_at, datetime) else feed.created_at),
    ).fetchone()[0]
    if is_old:
        connection.execute("INSERT INTO feed_state (feed_id, last_poll_at) VALUES (?, ?)", (number, polled))
    else:
        connection.execute("UPDATE feeds SET last_poll_at = ? WHERE id = ?", (polled, number))
    at = feed.polled_at or feed.created_at
    rows: list[tuple[str, datetime, int | None]] = [
        (guid, at - timedelta(minutes=5), 1000 + place) for place, guid in enumerate(feed.sent)
    ]
    rows += [(guid, feed.created_at, None) for guid in feed.there]
    connection.executemany(
        "INSERT INTO posted_items (feed_id, item_guid, posted_at, message_id) VALUES (?, ?, ?, ?)",
        [(number, guid, moment.isoformat(), message) for guid, moment, message in rows],
    )
