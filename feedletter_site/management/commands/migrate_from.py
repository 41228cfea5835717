"""`migrate_from`: takes over what another program had, without sending anything twice."""

import csv
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.tables import table_lines
from common.clock import utcnow
from feedletter_site.arrivals.report import Fate, Report
from feedletter_site.arrivals.source import SOURCES, source_called
from feedletter_site.arrivals.take_over import take_over
from subscriptions.rules.lists.formulas import as_text


class Command(FeedletterCommand):
    help = "Takes over what another program had. Stop that program first; begin with --dry-run."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("program", choices=sorted(SOURCES), metavar="SOURCE", help=", ".join(SOURCES))
        parser.add_argument("place", type=Path, metavar="DB", help="its database; it is only read")
        parser.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
        parser.add_argument("--report", type=Path, metavar="FILE", help="keep the report as CSV, too")

    def run(self, **options: Any) -> Result:
        source, file = source_called(options["program"]), options["report"]
        with self.progress("taking over") as progress:

            def told(done: int, of: int) -> None:
                progress.done, progress.total = done, of

            report = take_over(
                source, options["place"], is_dry_run=options["dry_run"], now=utcnow(), told=told
            )
        if file is not None:
            _keep(report, file)
        facts = {
            "source": report.source,
            "dry_run": report.is_dry_run,
            "counts": report.counts(),
            "notes": list(report.notes),
            "lines": [line.row() for line in report.lines],
        }
        return Printed(_shown(report, source.name), facts)


def _shown(report: Report, name: str) -> str:
    counts = report.counts()
    said = ", ".join(f"{fate.value}: {counts[fate.value]}" for fate in Fate)
    first = f"Of {name}, as it would be ({said}):" if report.is_dry_run else f"Of {name} ({said}):"
    # What needs a person comes first.
    order = [Fate.REFUSED, Fate.CHANGED, Fate.TAKEN, Fate.THERE]
    lines = sorted(report.lines, key=lambda line: order.index(line.fate))
    rows = table_lines([line.row() for line in lines]) if lines else ["There was nothing to take."]
    last = ["Nothing was changed, and Discord was not asked. Without --dry-run it is done."]
    return "\n".join([first, *rows, *report.notes, *(last if report.is_dry_run else ())])


def _keep(report: Report, file: Path) -> None:
    """Raises CommandError."""
    try:
        with file.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, ["what", "kind", "name", "words"])
            writer.writeheader()
            rows = (line.row() for line in report.lines)
            writer.writerows({name: as_text(value) for name, value in row.items()} for row in rows)
    except OSError as error:
        raise CommandError(f"--report: {file} cannot be written: {error.strerror}.") from error
