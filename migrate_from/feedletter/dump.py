"""Tables of feedletter's PostgreSQL database, from a plain dump or over a connection.

All values are texts, as COPY writes them; None is NULL.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import islice
from typing import IO

import psycopg
from psycopg import IsolationLevel, sql

from common.archives import Budget, memory_of
from common.body_limits import MEGABYTE
from common.formats.pg_dump import dumped_tables
from common.refused import Refused

Row = Mapping[str, str | None]

# Table → needed columns. Others are ignored.
TABLES: Mapping[str, tuple[str, ...]] = {
    "metadata": ("key", "value"),
    "config": ("key", "value"),
    "feed": (
        "id",
        "url",
        "min_delay_minutes",
        "await_stabilization_minutes",
        "max_delay_minutes",
        "assign_every_minutes",
        "added",
        "last_assigned",
    ),
    "item": ("feed_id", "guid", "single_item_rss", "link", "first_seen", "stable_since", "assignability"),
    "subscribable": ("subscribable_name", "feed_id", "subscription_manager_json", "last_completed_wti"),
    "subscription": ("subscription_id", "destination_json", "subscribable_name", "confirmed", "added"),
    "assignable": ("subscribable_name", "within_type_id", "opened"),
    "assignment": ("subscribable_name", "within_type_id", "guid"),
    "mailable": ("sha3_256", "mail_to", "mail_subject", "template_params", "retried"),
    "mailable_template": ("sha3_256", "template"),
    "immediately_mailable": ("mail_to", "subject"),
    "masto_postable": ("seqnum", "instance_url", "name", "final_content", "retried"),
    "masto_postable_media": ("masto_postable_id", "position", "media_url", "mime_type", "alt"),
    "bsky_postable": ("seqnum", "entryway_url", "identifier", "final_content", "retried"),
    "bsky_postable_media": ("bsky_postable_id", "position", "media_url", "mime_type", "alt"),
}
# Schema 1 has no Bluesky.
OPTIONAL = {"bsky_postable", "bsky_postable_media"}
VERSIONS = {"1", "2"}
CONNECT_SECONDS = 10
# Octets of memory.
MOST_KEPT = 150 * MEGABYTE
TOO_MUCH = (
    "Its tables take more than {} MB of memory. Use manage.py migrate_from with the database’s address."
)


def read_dump(stream: IO[str]) -> dict[str, list[Row]]:
    """Read our tables of a plain dump. Raises Refused."""
    tables, memory = dict[str, list[Row]](), Budget(MOST_KEPT, TOO_MUCH)
    for name, rows in dumped_tables(stream):
        if name not in TABLES:
            continue
        tables[name] = []
        for row in rows:
            needed = {column: row[column] for column in TABLES[name] if column in row}
            memory.spend(memory_of(needed))
            tables[name].append(needed)
    return _checked(tables)


def read_database(url: str) -> tuple[dict[str, list[Row]], int]:
    """Read all tables in one snapshot. Returns them and the number of other sessions. Raises Refused."""
    try:
        with psycopg.connect(url, connect_timeout=CONNECT_SECONDS) as connection:
            connection.read_only, connection.isolation_level = True, IsolationLevel.REPEATABLE_READ
            tables = {}
            for name, columns in TABLES.items():
                with suppress(psycopg.errors.UndefinedTable), connection.transaction():
                    tables[name] = list(_copied(connection, name, columns))
            sessions = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <>"
                " pg_backend_pid() AND backend_type = 'client backend'"
            ).fetchone()
    except psycopg.Error as error:
        first = next(islice(str(error).splitlines(), 1), type(error).__name__)
        raise Refused(f"The database can’t be read: {first}") from error
    return _checked(tables), sessions[0] if sessions else 0


def _copied(
    connection: "psycopg.Connection[tuple[int]]", name: str, columns: tuple[str, ...]
) -> Iterator[Row]:
    query = sql.SQL("COPY (SELECT {} FROM {}) TO STDOUT").format(
        sql.SQL(", ").join(map(sql.Identifier, columns)), sql.Identifier(name)
    )
    with connection.cursor().copy(query) as copy:
        for row in copy.rows():
            yield dict(zip(columns, row, strict=True))


def _checked(tables: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Raise Refused unless it has feedletter's tables in a known version."""
    for name, columns in TABLES.items():
        if name in OPTIONAL:
            tables.setdefault(name, [])
        if name not in tables:
            raise Refused(f"This isn’t feedletter’s database: it has no table “{name}”.")
        if tables[name] and (missing := sorted(set(columns) - set(tables[name][0]))):
            raise Refused(f"This isn’t feedletter’s database: “{name}” has no {', '.join(missing)}.")
    version = next((row["value"] for row in tables["metadata"] if row["key"] == "SchemaVersion"), None)
    if version not in VERSIONS:
        raise Refused(
            f"Its schema version is {version or 'unknown'}. Versions {' and '.join(sorted(VERSIONS))} can be"
            " imported: run feedletter’s db-migrate first."
        )
    return tables


def text(row: Row, key: str) -> str:
    return row[key] or ""
