"""Export and import of a site with 100,000 subscribers and 500,000 deliveries, and of a smaller one."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from django.core.management import call_command

from bench.ledger import Size, fill
from bench.lists import Run, command
from delivery.models import Delivery
from feedletter_site.export.parts import EXPORTED_PARTS
from tests.databases import migrated_file

SIZES = (20_000, 100_000)
ISSUES = 5
# Goals: rows a second, and megabytes.
EXPORT, IMPORT, MEMORY = 10_000.0, 5_000.0, 200.0


def export() -> list[dict[str, object]]:
    results: list[dict[str, object]] = []
    with TemporaryDirectory(prefix="feedletter-export-") as name:
        folder = Path(name)
        empty = migrated_file()
        for subscribers in SIZES:
            call_command("flush", interactive=False, verbosity=0)
            fill(Size(feeds=100, hosts=50, posts=1000, subscribers=subscribers, issues=ISSUES))
            assert Delivery.objects.count() == subscribers * ISSUES
            rows = sum(part.rows.count() for part in EXPORTED_PARTS)
            archive, database = folder / f"{subscribers}.zip", folder / f"{subscribers}.db"
            shutil.copy(empty, database)
            written = command("export_site", str(archive))
            new = {"DATABASE_URL": f"sqlite:///{database}", "DATA_DIR": str(folder / str(subscribers))}
            with patch.dict(os.environ, new):
                taken = command("import_site", str(archive))
            results += [figure("export", rows, written, EXPORT), figure("import", rows, taken, IMPORT)]
            results += [memory("export", written), memory("import", taken)]
    return results


def figure(name: str, rows: int, run: Run, wanted: float) -> dict[str, object]:
    named = {"figure": f"{name} of {rows:,} rows", "rate": rows / run.seconds, "unit": "rows/s"}
    ratio = rows / run.seconds / wanted
    return {**named, "baseline": "wanted", "baseline_rate": wanted, "ratio": ratio}


def memory(name: str, run: Run) -> dict[str, object]:
    named = {"figure": f"  memory of {name}, at most", "rate": run.megabytes, "unit": "MB"}
    return {**named, "baseline": "wanted", "baseline_rate": MEMORY, "ratio": MEMORY / run.megabytes}
