import csv
from datetime import datetime, timedelta
from itertools import chain, count
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result, table_lines
from common.clock import utcnow
from common.passes import TimeBudget
from common.text import pluralize
from feedletter_site.migrate_from.source import ORDER, SOURCES, Plan, Report, Source, csv_rows, source_called
from feedletter_site.migrate_from.take_over import Doing, process
from migrate_from.records import ImportResult, Line, Options
from migrate_from.secret_files import read_secrets, refuse_existing, write_environment

READS_FOR = timedelta(minutes=30)
BARS = {Doing.LOOK: "looking", Doing.READ: "reading the feeds", Doing.TAKE: "importing"}


class Command(FeedletterCommand):
    help = (
        "Imports feeds and subscribers from another program. Stop that program first. Begin with --dry-run"
        " --read, which reads each feed once and lists the posts that would be new."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("program", choices=sorted(SOURCES), metavar="SOURCE", help=", ".join(SOURCES))
        parser.add_argument(
            "place", metavar="PLACE", help="its file, folder or database URL, which is only read"
        )
        parser.add_argument("--dry-run", action="store_true", help="show what would happen; change nothing")
        parser.add_argument(
            "--read",
            action="store_true",
            help="read each feed once, and list by title the posts that would be new; means --dry-run, too",
        )
        parser.add_argument(
            "--zone",
            default="",
            metavar="ZONE",
            help="feedletter: time zone of the machine that ran it, such as America/New_York",
        )
        parser.add_argument(
            "--stale",
            choices=("skip", "send"),
            default="skip",
            help="feedletter: what to do with posts of issues that were over a week ago and never sent",
        )
        parser.add_argument(
            "--queued",
            choices=("drop", "keep"),
            default="drop",
            help="feedletter: what to do with messages left in its queues; kept ones are sent when you resume"
            " sending",
        )
        parser.add_argument(
            "--secrets",
            type=Path,
            metavar="FILE",
            help="feedletter: its feedletter-secrets.properties, for the tokens of bridges and for --env-out",
        )
        parser.add_argument(
            "--env-out",
            type=Path,
            metavar="FILE",
            help="feedletter: write its settings and secrets there as an environment file for Feedletter",
        )
        parser.add_argument(
            "--reader", default="", metavar="NAME", help="microsub: name of the reader to import for"
        )
        parser.add_argument(
            "--user",
            default="",
            metavar="ME",
            help="microsub: whose channels to import, if the export has several people's",
        )
        parser.add_argument(
            "--orphans", action="store_true", help="microsub: import channels that belong to nobody, too"
        )
        parser.add_argument(
            "--report", type=Path, metavar="FILE", help="also write the report as CSV; an earlier one stays"
        )

    def run(self, **options: Any) -> Result:
        source, file, now = source_called(options["program"]), options["report"], utcnow()
        if source.needs_zone:
            _check_zone(options["zone"])
        if (env_file := options["env_out"]) is not None:
            refuse_existing(env_file)
        plan = source.read(options["place"], options=_options(**options), now=now)
        if env_file is not None and not plan.environment:
            raise CommandError(f"--env-out: {source.name} has no settings for an environment file.")
        report = Report(source.key, options["dry_run"] or options["read"], options["read"])
        report.add(plan.refused)
        self._go(source, plan, Doing.LOOK if report.is_dry_run else Doing.TAKE, report, now)
        if report.is_read:
            self._go(source, plan, Doing.READ, report, now)
        report.notes = [*plan.notes, *report.about_reading()]
        if env_file is not None and not report.is_dry_run:
            report.notes.append(write_environment(env_file, plan.environment))
        if file is not None:
            kept = _keep(report, file)
            report.notes += [f"The report is in {kept}, because {file} has an earlier one."] * (kept != file)
        facts = {
            "source": report.source,
            "dry_run": report.is_dry_run,
            "read": report.is_read,
            "counts": report.counts(),
            "notes": list(report.notes),
            "lines": [line.row() for line in report.lines],
        }
        return Printed(_shown(report, source.name), facts)

    def _go(self, source: Source, plan: Plan, doing: Doing, report: Report, now: datetime) -> None:
        """Process all parts with a progress bar; reading stops after READS_FOR."""
        left, parts = TimeBudget(READS_FOR if doing is Doing.READ else None), len(plan.parts)
        with self.progress(BARS[doing], parts) as progress:
            for done, lines in process(source, plan, doing, now=now, told=progress.advance):
                report.add(lines)
                progress.done = done
                if left.is_spent and done < parts:
                    more = pluralize(parts - done, "more feed")
                    why = "The time for reading is over. Use the page in the admin, which has no limit."
                    report.add([Line(ImportResult.UNREAD, "feeds", more, why, count=parts - done)])
                    return


def _shown(report: Report, name: str) -> str:
    counts = ", ".join(f"{fate}: {count}" for fate, count in report.counts().items())
    first = (
        f"Preview of the import from {name} ({counts}):"
        if report.is_dry_run
        else f"Imported from {name} ({counts}):"
    )
    lines = sorted(report.lines, key=lambda line: ORDER.index(line.fate))
    rows = table_lines([line.row() for line in lines]) if lines else ["There was nothing to import."]
    last = ["Nothing was changed. To import, run it without --dry-run and --read."]
    return "\n".join([first, *rows, *report.notes, *(last if report.is_dry_run else ())])


def _options(**options: Any) -> Options:
    """Raises Refused."""
    return Options(
        zone=options["zone"],
        sends_stale=options["stale"] == "send",
        keeps_queued=options["queued"] == "keep",
        secrets=read_secrets(options["secrets"]) if options["secrets"] else {},
        **{name: options[name] for name in ("reader", "user", "orphans")},
    )


def _check_zone(name: str) -> None:
    try:
        ZoneInfo(name)
    except (ValueError, OSError) as error:
        raise CommandError(
            "--zone: give the time zone of the machine that ran it, such as America/New_York."
        ) from error


def _keep(report: Report, file: Path) -> Path:
    """Return its name, which has a number if there is an earlier report."""
    numbered = (file.with_stem(f"{file.stem}-{number}") for number in count(2))
    file = next(name for name in chain([file], numbered) if not name.is_file())
    try:
        with file.open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows(csv_rows(line.row().values() for line in report.lines))
    except OSError as error:
        raise CommandError(f"--report: {file} cannot be written: {error.strerror}.") from error
    return file
