"""Between real installations: PostgreSQL to SQLite and back, and SIGKILL at any moment of an import."""

import random
import re
import time
import zipfile
from pathlib import Path

import pytest

from tests.examples import NIGHTLY, examples
from tests.load.installation import Installation, postgres_installation, sqlite_installation

pytestmark = [pytest.mark.slow, pytest.mark.postgres]
FILL = "from tests.site.export.whole_site import whole_site; whole_site()"
MANY = """
from subscriptions.models import Destination
rows = (Destination(kind="email", core=f"{n}@many.example", label=f"{n}@many.example") for n in range(20_000))
Destination.objects.bulk_create(rows, batch_size=2000)
"""
KILLS = max(examples(4), 2)
SNAPSHOT = """
from pathlib import Path
from threading import Thread
from common.cli.progress import Progress
from feedletter_site.export.site import export_site
from tests.factories import NOW, FeedFactory, SuppressionFactory

class Meanwhile(Progress):
    def advance(self, count=1):
        if not self.done:
            thread = Thread(target=SuppressionFactory)
            thread.start()
            thread.join()
        self.done += count

FeedFactory(), SuppressionFactory()
export_site(Path({path!r}), "", now=NOW, progress=Meanwhile("", None))
"""


def content(path: Path) -> dict[str, bytes]:
    """Return the files without the time of the export."""
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    files["manifest.json"] = re.sub(rb'"(made_at|sha256)": "[^"]*"', b"", files["manifest.json"])
    return {name: re.sub(rb"<dateCreated>.*?</dateCreated>", b"", text) for name, text in files.items()}


def rows(installation: Installation) -> list[int]:
    tables = ("feeds_feed", "subscriptions_destination", "subscriptions_subscription", "delivery_delivery")
    return [installation.rows(f"SELECT count(*) FROM {table}")[0][0] for table in tables]


def folder(place: Path) -> Path:
    place.mkdir()
    return place


def test_to_another_database_and_back(tmp_path: Path, postgres_url: str) -> None:
    first, second, third = (tmp_path / f"{number}.zip" for number in range(3))
    with postgres_installation(folder(tmp_path / "old"), postgres_url) as old:
        old.script(FILL)
        old.manage("export_site", str(first))
    with sqlite_installation(folder(tmp_path / "new")) as new:
        new.manage("import_site", str(first))
        new.manage("export_site", str(second))
        new.manage("check")
    with postgres_installation(folder(tmp_path / "back"), postgres_url) as back:
        back.manage("import_site", str(second))
        back.manage("export_site", str(third))
    assert content(second) == content(first)
    assert content(third) == content(first)


@pytest.mark.parametrize("vendor", ["sqlite", "postgresql"])
def test_rows_that_are_added_meanwhile_are_not_in_it(
    vendor: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if vendor == "sqlite":
        installed = sqlite_installation(tmp_path)
    else:
        installed = postgres_installation(tmp_path, request.getfixturevalue("postgres_url"))
    with installed as site:
        site.script(SNAPSHOT.format(path=str(tmp_path / "site.zip")))
    files = content(tmp_path / "site.zip")
    assert files["data/subscriptions.Suppression.jsonl"].count(b"\n") == 1


@NIGHTLY
def test_a_killed_import_is_none(tmp_path: Path) -> None:
    path = tmp_path / "site.zip"
    with sqlite_installation(folder(tmp_path / "old")) as old:
        old.script(FILL + MANY)
        old.manage("export_site", str(path))
        whole = rows(old)
    with sqlite_installation(folder(tmp_path / "new")) as new:
        for _ in range(KILLS):
            process = new.start("manage.py", "import_site", str(path))
            time.sleep(random.uniform(1.5, 4))
            was_running = process.poll() is None
            new.kill(process)
            if not was_running:
                break
            assert rows(new) in ([0, 0, 0, 0], whole)
        if rows(new) != whole:
            new.manage("import_site", str(path))
        assert rows(new) == whole
        second = new.python("manage.py", "import_site", str(path))
        assert second.returncode
        assert "This site has" in second.stderr
