"""An uploaded SQLite database is read as data; nothing in it is executed."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from common.db import foreign_sqlite
from common.db.foreign_sqlite import UnreadableDatabase, read_tables

WANTED = {"feeds": ("id", "url"), "posted": ("guid", "at")}
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS id, x AS url FROM n"


def database(place: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(place / "d.db")) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return place / "d.db"


def test_the_wanted_columns_that_exist_are_read_in_their_order(tmp_path: Path) -> None:
    place = database(
        tmp_path,
        "CREATE TABLE Feeds (url TEXT, more TEXT, id INTEGER PRIMARY KEY)",
        "INSERT INTO feeds VALUES ('b', 'x', 2), (NULL, 'y', 1), (CAST(x'ff41' AS TEXT), 'z', 3)",
    )
    tables = read_tables(place, WANTED)
    assert set(tables) == {"feeds"}
    assert (tables["feeds"].columns, tables["feeds"].rows) == (
        ("id", "url"),
        [[1, None], [2, "b"], [3, "\ufffdA"]],
    )


@pytest.mark.parametrize(
    "statement",
    [
        f"CREATE VIEW feeds AS {ENDLESS}",
        "CREATE VIRTUAL TABLE feeds USING fts5(id, url)",
        "CREATE VIRTUAL TABLE feeds USING rtree(id, url, more)",
    ],
)
def test_views_and_virtual_tables_are_no_tables(tmp_path: Path, statement: str) -> None:
    assert read_tables(database(tmp_path, statement), WANTED) == {}


@pytest.mark.slow
def test_generated_columns_are_not_computed(tmp_path: Path) -> None:
    place = database(
        tmp_path,
        "CREATE TABLE feeds (id INTEGER, url TEXT AS (hex(zeroblob(400000000))))",
        "INSERT INTO feeds (id) VALUES (1)",
    )
    assert read_tables(place, WANTED)["feeds"].columns == ("id",)


def test_a_value_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    place = database(
        tmp_path,
        "CREATE TABLE feeds (id INTEGER, url TEXT)",
        "INSERT INTO feeds VALUES (1, zeroblob(2000000))",
    )
    with pytest.raises(UnreadableDatabase, match="too big"):
        read_tables(place, WANTED)


def test_a_database_that_takes_too_long_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = database(tmp_path, "CREATE TABLE feeds (id INTEGER, url TEXT)")
    monkeypatch.setattr(foreign_sqlite, "SECONDS", 0.001)
    with pytest.raises(UnreadableDatabase, match="too much time or memory"):
        read_tables(place, WANTED)


@pytest.mark.parametrize("damage", [slice(16, 100), slice(100, 200), slice(4096, 6000), slice(20, 8000)])
def test_damage_is_refused_or_read_as_far_as_it_goes(tmp_path: Path, damage: slice) -> None:
    place = database(
        tmp_path, "CREATE TABLE feeds (id INTEGER, url TEXT)", "INSERT INTO feeds VALUES (1, 'a'), (2, 'b')"
    )
    octets = bytearray(place.read_bytes())
    octets[damage] = b"\xfe" * len(octets[damage])
    place.write_bytes(octets)
    with pytest.raises(UnreadableDatabase):
        raise UnreadableDatabase(str(read_tables(place, WANTED)))


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.db").write_bytes(b"PK\x03\x04 a zip")
    with pytest.raises(UnreadableDatabase, match="no SQLite database"):
        read_tables(tmp_path / "d.db", WANTED)
