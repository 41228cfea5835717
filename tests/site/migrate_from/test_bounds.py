"""Uploads cannot take all memory, and one that kills its worker is given up."""

import io
import sqlite3
import subprocess
import sys
import time
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from migrate_from.feedletter.dump import read_dump
from migrate_from.microsub.documents import MOST_BSON_VALUES, BadDocuments, json_documents
from tests.examples import NIGHTLY, some_now
from tests.load.installation import sqlite_installation

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
READ = """
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
    done = subprocess.run([sys.executable, "-c", READ, place], capture_output=True, text=True, timeout=120)
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
