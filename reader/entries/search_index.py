"""Full-text index over `Entry.text`: FTS5 on SQLite, GIN on PostgreSQL.

`ensure_index` runs after migrations, as SQLite drops triggers when Django recreates a table.
"""

from datetime import timedelta
from typing import Any

from django.db import OperationalError, connection, connections, transaction
from django.utils.translation import gettext

from common.refused import Refused
from reader.models import Entry
from reader.rules.jf2 import searched_text
from reader.rules.search import Query

LONGEST_SEARCH = timedelta(seconds=3)
REWRITTEN_TOGETHER = 500
_FOUND = {
    "sqlite": "SELECT rowid FROM reader_entry_words WHERE reader_entry_words MATCH %s "
    "ORDER BY rowid DESC LIMIT 20000",
    # MATERIALIZED, or the planner may parse every post instead of using the index.
    "postgresql": "WITH found AS MATERIALIZED (SELECT id, text FROM reader_entry "
    "WHERE to_tsvector('simple', text) @@ to_tsquery('simple', %s)) "
    "SELECT id FROM found WHERE ' ' || text || ' ' LIKE ALL (%s) ORDER BY id DESC LIMIT 20000",
}
_ON_POSTGRESQL = "INDEX {} entry_words ON reader_entry USING gin (to_tsvector('simple', text))"
_ON_SQLITE = {
    "reader_entry_words": "CREATE VIRTUAL TABLE reader_entry_words "
    "USING fts5(text, content='reader_entry', content_rowid='id', columnsize=0)",
    "reader_entry_words_insert": "CREATE TRIGGER reader_entry_words_insert AFTER INSERT ON reader_entry "
    "BEGIN INSERT INTO reader_entry_words (rowid, text) VALUES (new.id, new.text); END",
    "reader_entry_words_delete": "CREATE TRIGGER reader_entry_words_delete AFTER DELETE ON reader_entry "
    "BEGIN INSERT INTO reader_entry_words (reader_entry_words, rowid, text) "
    "VALUES ('delete', old.id, old.text); END",
    "reader_entry_words_update": "CREATE TRIGGER reader_entry_words_update AFTER UPDATE OF text "
    "ON reader_entry BEGIN INSERT INTO reader_entry_words (reader_entry_words, rowid, text) "
    "VALUES ('delete', old.id, old.text); "
    "INSERT INTO reader_entry_words (rowid, text) VALUES (new.id, new.text); END",
}


def entries_with(query: Query) -> list[int]:
    """Raises Refused if too slow."""
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute(_FOUND["sqlite"], [query.fts5])
            return [pk for (pk,) in cursor.fetchall()]
        parts = [f"%{term.part}%" for term in query.wanted]
        with transaction.atomic():
            # A scan parses every text.
            cursor.execute("SET LOCAL enable_seqscan = off")
            cursor.execute(f"SET LOCAL statement_timeout = {LONGEST_SEARCH // timedelta(milliseconds=1)}")
            try:
                with transaction.atomic():
                    cursor.execute(_FOUND["postgresql"], [query.tsquery, parts])
                    pks = [pk for (pk,) in cursor.fetchall()]
            except OperationalError as error:
                words = gettext("Too many posts contain these words. Add a less common word.")
                raise Refused(words) from error
            cursor.execute("RESET statement_timeout")
            cursor.execute("RESET enable_seqscan")
            return pks


def ensure_index(using: str, **_: Any) -> None:
    """Create a missing or invalid index. Receives post_migrate."""
    database: Any = connections[using]
    with database.cursor() as cursor:
        if Entry._meta.db_table not in database.introspection.table_names(cursor):
            return
        if database.vendor == "sqlite":
            _ensure_on_sqlite(cursor)
        elif database.vendor == "postgresql":
            _ensure_on_postgresql(cursor, is_atomic=database.in_atomic_block)


def _ensure_on_sqlite(cursor: Any) -> None:
    cursor.execute("SELECT name FROM sqlite_master WHERE name LIKE 'reader_entry_words%%'")
    there = {name for (name,) in cursor.fetchall()}
    missing = [create for name, create in _ON_SQLITE.items() if name not in there]
    if missing:
        _rewrite_old_texts()
        for create in missing:
            cursor.execute(create)
        cursor.execute("INSERT INTO reader_entry_words (reader_entry_words) VALUES ('rebuild')")


def _ensure_on_postgresql(cursor: Any, *, is_atomic: bool) -> None:
    cursor.execute("SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass('entry_words')")
    if cursor.fetchone() != (True,):
        _rewrite_old_texts()
        # CONCURRENTLY fails in transactions.
        beside = "" if is_atomic else "CONCURRENTLY"
        cursor.execute(f"DROP INDEX {beside} IF EXISTS entry_words")
        cursor.execute(f"CREATE {_ON_POSTGRESQL.format(beside)}")


def _rewrite_old_texts() -> None:
    """Releases before the index stored punctuation."""
    last = 0
    while True:
        rows = Entry.objects.filter(pk__gt=last).exclude(text="").order_by("pk")
        some = list(rows.only("jf2", "text")[:REWRITTEN_TOGETHER])
        if not some:
            return
        last = some[-1].pk
        old = [entry for entry in some if not entry.text.startswith(" ")]
        for entry in old:
            entry.text = searched_text(entry.jf2 or {})
        Entry.objects.bulk_update(old, ["text"])
