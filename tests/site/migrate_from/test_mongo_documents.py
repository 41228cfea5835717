"""Extended JSON and BSON, cut anywhere and from anybody.

Uploads cannot take all memory, and one that kills its worker is given up.
"""

import io
import sqlite3
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from migrate_from.feedletter.dump import read_dump
from migrate_from.microsub import documents
from migrate_from.microsub.documents import (
    MOST_BSON_VALUES,
    BadDocuments,
    archive_documents,
    bson_documents,
    json_documents,
)
from tests.examples import NIGHTLY, some_now
from tests.load.installation import sqlite_installation
from tests.site.migrate_from.test_microsub import bson, mongodump

MOST_MEMORY = 300 * 1024
LARGE = 16_500_000
KEEP = """
from feedletter_site.models import Arrival
from common.clock import utcnow
Arrival.keep({"": [b"x"]}, "looking", name="dump.sql", by="ada", now=utcnow(), source="feedletter")
"""
WORK = """
import django, time
django.setup()
from datetime import timedelta
from feedletter_site.migrate_from import take_over
take_over.source_called = lambda name: time.sleep(60)
take_over.work_off_arrivals(budget=timedelta(minutes=1))
"""
READER = """
import sys
from pathlib import Path
from common.refused import Refused
from migrate_from.feedletter.dump import read_dump
from migrate_from.microsub.files import read_export
try:
    read_dump(open(sys.argv[1])) if sys.argv[1].endswith("sql") else read_export(Path(sys.argv[1]))
except Refused as error:
    print(error, file=sys.stderr)
# ru_maxrss would count the parent, too, until exec.
status = Path("/proc/self/status").read_text()
print(status.partition("VmHWM:")[2].split()[0])
"""
TEXT = (
    '{"a": "ä€😀", "n": [1, {"b": null}]}\n{"_id": {"$oid": "66"}, "at": {"$date": "2026-01-01T00:00:00Z"}}'
)
READ = [{"a": "ä€😀", "n": [1, {"b": None}]}, {"_id": "66", "at": "2026-01-01T00:00:00Z"}]


def cut(octets: bytes, size: int) -> Iterator[bytes]:
    return (octets[start : start + size] for start in range(0, len(octets), size))


@pytest.mark.parametrize("size", [1, 7, 1_000])
@pytest.mark.parametrize("array", [False, True])
def test_json_is_read_in_any_pieces(size: int, array: bool) -> None:
    text = f"[{TEXT.replace(chr(10), ',')}]\n" if array else TEXT
    assert list(json_documents(cut(text.encode(), size))) == READ


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_bson_is_read_in_any_pieces(size: int) -> None:
    documents: list[dict[str, Any]] = [{"a": "ä", "n": [1, True, None]}, {"b": {"c": 2}}]
    octets = b"".join(bson(document) for document in documents) * 3
    assert list(bson_documents(cut(octets, size))) == documents * 3


@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_an_archive_is_read_in_any_pieces(size: int) -> None:
    wanted: list[dict[str, Any]] = [{"a": "ä"}, {"b": {"c": 2}}, {}]
    other = bson({"x": 1})
    rows = [bson(document) for document in wanted]
    blocks = [("w", False, rows[:2]), ("o", False, [other]), ("w", False, rows[2:]), ("o", True, [])]
    octets = mongodump(["w", "o", "e"], [*blocks, ("w", True, []), ("e", True, [])])
    read = list(archive_documents(cut(octets, size), ("w", "e")))
    assert read == [("w", None), ("e", None), *(("w", document) for document in wanted)]


def test_half_an_archive_is_refused() -> None:
    whole = mongodump(["w"], [("w", False, [bson({"a": "text"})]), ("w", True, [])])
    for end in range(len(whole)):
        with pytest.raises(BadDocuments):
            list(archive_documents([whole[:end]], ("w",)))
    assert len(list(archive_documents([whole], ("w",)))) == 2


def test_other_types_of_bson_are_passed_over() -> None:
    body = (
        b"\x01d\0"
        + b"\0" * 8
        + b"\x05b\0\x02\0\0\0\0xx"
        + b"\x0br\0a\0i\0"
        + b"\x12l\0\x05"
        + b"\0" * 7
        + b"\x11t\0"
        + b"\0" * 8
        + b"\x13e\0"
        + b"\0" * 16
        + b"\xffm\0"
    )
    octets = (len(body) + 5).to_bytes(4, "little") + body + b"\0"
    (document,) = bson_documents([octets])
    assert document == {"d": 0.0, "b": None, "r": None, "l": 5, "t": None, "e": None, "m": None}


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('{"$date": {"$numberLong": "0"}}', "1970-01-01T00:00:00+00:00"),
        ('{"$date": 1000}', "1970-01-01T00:00:01+00:00"),
        ('{"$date": {"$numberLong": "99999999999999999999"}}', None),
        ('{"$date": []}', None),
        ('{"$numberInt": "5"}', 5),
        ('{"$numberLong": "' + "9" * 5_000 + '"}', None),
        ('{"$numberDouble": "x"}', None),
        ('{"$oid": 5}', None),
        ('{"$binary": {"base64": "", "subType": "00"}}', None),
        ("{}", {}),
    ],
)
def test_objects_of_extended_json_become_values(written: str, read: object) -> None:
    assert list(json_documents([f'{{"x": {written}}}'.encode()])) == [{"x": read}]


def test_documents_have_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "LONGEST", 100)
    with pytest.raises(BadDocuments, match="after 1 documents"):
        list(json_documents(cut(b'{"a":1}{"b":"' + b"x" * 10_000, 50)))
    with pytest.raises(BadDocuments):
        list(bson_documents([bson({"a": "x" * 200})]))


def nested(depth: int) -> bytes:
    octets = bson({})
    for _ in range(depth):
        body = b"\x03a\0" + octets
        octets = (len(body) + 5).to_bytes(4, "little") + body + b"\0"
    return octets


def test_bson_has_a_largest_depth() -> None:
    assert len(list(bson_documents([nested(50)]))) == 1
    with pytest.raises(BadDocuments):
        list(bson_documents([nested(5_000)]))


@given(st.binary(max_size=200), st.integers(0, 60))
def test_no_bytes_raise_anything_but_the_one_error(body: bytes, at: int) -> None:
    whole = bson({"a": "text", "b": [1, {"c": None}]})
    archive = mongodump(["w"], [("w", False, [whole]), ("w", True, [])])
    given = (body, whole[:at] + body + whole[at:], len(body).to_bytes(4, "little") + body)
    for octets in (*given, archive[:at] + body + archive[at:]):
        for read in (json_documents, bson_documents, partial(archive_documents, wanted=("w",))):
            try:
                list(read([octets]))
            except BadDocuments:
                continue


def packed(folder: Path, unit: str, count: int) -> Path:
    """Return a zip of large documents of many repeated values."""
    place = folder / "export.zip"
    text = '{"a":[' + unit * (LARGE // len(unit.encode())) + "0]}\n"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("microsub_channels.json", "{}")
        with archive.open("microsub_feeds.json", "w", force_zip64=True) as member:
            for _ in range(count):
                member.write(text.encode())
    return place


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", some_now(["[],", '{"":0},', '"' + "é" * 1_000_000 + '",']), ids=["lists", "objects", "texts"]
)
def test_a_small_zip_of_large_documents_takes_little_memory(tmp_path: Path, unit: str) -> None:
    assert memory_of(packed(tmp_path, unit, 20)) < MOST_MEMORY


@NIGHTLY
def test_a_dump_of_short_lines_takes_little_memory(tmp_path: Path) -> None:
    place = tmp_path / "dump.sql"
    place.write_text("COPY public.config (key, value) FROM stdin;\n" + "\t\n" * 4_000_000 + "\\.\n")
    assert memory_of(place) < MOST_MEMORY


def memory_of(place: Path) -> int:
    """Return the most kilobytes that reading the file took."""
    done = subprocess.run([sys.executable, "-c", READER, place], capture_output=True, text=True, timeout=120)
    assert "MB of memory" in done.stderr or "values" in done.stderr, done.stderr
    return int(done.stdout)


def test_a_document_has_so_many_values() -> None:
    for count, is_read in ((MOST_BSON_VALUES - 10, True), (2 * MOST_BSON_VALUES, False)):
        octets = b'[{}, {"a": [' + b"0," * count + b"0]}]"
        pieces = [octets[at : at + 100_000] for at in range(0, len(octets), 100_000)]
        if is_read:
            assert len(list(json_documents(pieces))) == 2
        else:
            with pytest.raises(BadDocuments, match="Document 2 has more than"):
                list(json_documents(pieces))


def test_a_table_has_no_more_columns_than_postgresql_allows() -> None:
    with pytest.raises(Exception, match="more than 1,600 columns"):
        read_dump(io.StringIO(f"COPY public.feed ({'a,' * 2_000}b) FROM stdin;\n"))


@pytest.mark.slow
def test_an_upload_that_kills_its_worker_three_times_is_unusable(tmp_path: Path) -> None:
    with sqlite_installation(tmp_path) as here, closing(sqlite3.connect(tmp_path / "feedletter.db")) as rows:
        here.script(KEEP)
        for _ in range(5):
            worker = here.start(
                "-c", WORK, environment={"DJANGO_SETTINGS_MODULE": "feedletter_site.settings"}
            )
            until = time.monotonic() + 60
            while state(rows)[0] == "looking" and not state(rows)[1] and worker.poll() is None:
                assert time.monotonic() < until
                time.sleep(0.05)
            here.kill(worker)
            with rows:
                rows.execute("UPDATE feedletter_site_arrival SET lease_token = NULL, lease_until = NULL")
        assert state(rows)[0] == "unusable"
        ((trouble,),) = rows.execute("SELECT trouble FROM feedletter_site_arrival").fetchall()
        assert "the worker was killed" in trouble


def state(rows: sqlite3.Connection) -> tuple[str, str]:
    found: tuple[str, str] = rows.execute("SELECT state, lease_token FROM feedletter_site_arrival").fetchone()
    return found
