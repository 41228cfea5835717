"""What a database's tables are made of, to be compared with another's: the order of columns says nothing."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import psycopg

COLUMNS = """
SELECT relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated,
       attcollation::regcollation, attstorage, pg_get_expr(adbin, adrelid)
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'S')
"""
RELATIONS = """
SELECT relname, relkind, relpersistence, reloptions FROM pg_class WHERE relnamespace = 'public'::regnamespace
"""
INDEXES = "SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'"
CONSTRAINTS = """
SELECT conrelid::regclass, conname, contype, condeferrable, condeferred, convalidated,
       pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
"""


def schema(url: str) -> set[tuple[str, ...]]:
    """Every column, constraint, index and table, each by itself."""
    return sqlite_schema(url) if is_sqlite(url) else postgres_schema(url)


def postgres_schema(url: str) -> set[tuple[str, ...]]:
    return set().union(*(rows(url, query) for query in (COLUMNS, RELATIONS, INDEXES, CONSTRAINTS)))


def sqlite_schema(url: str) -> set[tuple[str, ...]]:
    """Columns and constraints as they stand in the statements that make their tables."""
    found: set[tuple[str, ...]] = set()
    for kind, name, sql in rows(url, "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL"):
        found |= {(name, part) for part in parts(sql)} if kind == "table" else {(name, sql)}
    return found


def rows(url: str, query: str) -> set[tuple[str, ...]]:
    """What it answers, in words."""
    if is_sqlite(url):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
            return {tuple(map(str, row)) for row in file.execute(query)}
    with psycopg.connect(url) as connection:
        return {tuple(map(str, row)) for row in connection.execute(query.encode())}


def is_sqlite(url: str) -> bool:
    return url.startswith("sqlite:")


def parts(statement: str) -> Iterator[str]:
    """What stands between the outer brackets of CREATE TABLE, taken apart at its commas."""
    depth, part = 0, ""
    inside = statement[statement.index("(") + 1 : statement.rindex(")")]
    for word in re.findall(r"'(?:[^']|'')*'|\"[^\"]*\"|[(),]|[^'\"(),]+", inside):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "," and not depth:
            yield " ".join(part.split())
            part = ""
        else:
            part += word
    yield " ".join(part.split())
