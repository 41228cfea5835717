import csv
import gc
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from shlex import quote
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from django.core.management.base import CommandError

from common.cli.arguments import add_paging, argument, page
from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.progress import Progress
from common.clock import utcnow
from common.db.lookups import disable_sqlite_mmap
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.text import pluralize, shortened
from common.uploads import PIECE_SIZE
from subscriptions.lists.importer import AmbiguousColumns, OnRefused, import_subscribers, try_subscribers
from subscriptions.lists.reading import ImportReport, RefusedRow, Terms, refused_head, refused_row
from subscriptions.lists.suppressions import import_suppressions
from subscriptions.lists.uploads import OLD_ENCODING, FileLines, as_utf8
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.models import Suppression
from subscriptions.rules.lists.headings import MEANINGS
from subscriptions.rules.lists.programs import LIST_STATUSES
from subscriptions.rules.lists.rows import OUTCOMES, summary
from subscriptions.rules.lists.times import ORDERS
from subscriptions.subscribers.suppression import lift

# Seconds after which the speed is shown.
LONG = 10.0


class ImportSubscribers(FeedletterCommand):
    help = "Imports subscribers from CSV (columns email, name, status, added and more; only email is needed)."
    arguments = (
        add_newsletter,
        argument("file", metavar="FILE", help="“-” reads what is piped in."),
        argument("--dry-run", action="store_true", help="Show what would happen; change nothing."),
        argument(
            "--status",
            choices=LIST_STATUSES,
            default="unconfirmed",
            help="Status of lines without one (usually unconfirmed).",
        ),
        argument(
            "--consent", metavar="WORDS", default="", help="How they agreed, stored as proof of consent."
        ),
        argument(
            "--column",
            metavar="HEADING=MEANING",
            action="append",
            default=[],
            help=(
                "Meaning of a column: one of our names; “suppressed” or “unsubscribed”, for people who have"
                " something in it; “subscribed”, for a column where no or nothing means that they left (with"
                " “verified”, that they have not confirmed); or “ignore”. May be given several times."
            ),
        ),
        argument(
            "--dates",
            choices=ORDERS,
            default="",
            help="Whether dates such as 3/4/2026 begin with the day or the month.",
        ),
        argument("--refused", metavar="FILE", help="Write refused lines to this file as CSV."),
    )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        disable_sqlite_mmap()
        # A full collection looks at all of Django, 0.1 s every 8,000 lines.
        gc.freeze()
        act = try_subscribers if options["dry_run"] else import_subscribers
        label = "checking lines" if options["dry_run"] else "importing lines"
        terms = Terms(options["status"], options["consent"], meanings(options["column"]), options["dates"])
        began = time.monotonic()
        with (
            opened(options["file"]) as file,
            refusals(options["refused"]) as on_refused,
            self.progress(label) as progress,
        ):
            lines = LinesOf(file, progress)
            try:
                report = act(
                    subscribable=subscribable, lines=lines, now=utcnow(), terms=terms, on_refused=on_refused
                )
            except AmbiguousColumns as error:
                given = " ".join(
                    f"--column {quote(f'{name}={meaning}')}" for name, meaning in error.advice.items()
                )
                raise CommandError(f"{' '.join(error.messages)} For example: {given}") from error
        report.note = " ".join(filter(None, (report.note, lines.note)))
        said, seconds = told(report, dry_run=options["dry_run"]), time.monotonic() - began
        if seconds >= LONG:
            said += f"\n{progress.done:,} lines in {seconds:.0f} s, {progress.done / seconds:,.0f} a second."
        facts = {"added": report.added, "updated": report.updated, "unchanged": report.unchanged}
        if options["dry_run"]:
            facts["repeated"] = report.repeated
        outcomes = {kind: report.outcomes[kind] for kind in OUTCOMES if kind != "repeated"}
        unused = [{"column": name, "concerns": rows} for name, rows in report.not_used]
        return Printed(said, {**facts, "outcomes": outcomes, "not_used": unused, **refused_facts(report)})


def meanings(given: Sequence[str]) -> dict[str, str]:
    """Raises CommandError for an unknown meaning."""
    said = {}
    for pair in given:
        name, _, meaning = pair.rpartition("=")
        if not name or meaning not in MEANINGS:
            raise CommandError(
                f"--column {pair}: write HEADING=MEANING, the meaning one of {', '.join(MEANINGS)}."
            )
        said[name] = meaning
    return said


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Piped input is stored, since a list is read twice."""
    if name == "-":
        piped = getattr(sys.stdin, "buffer", None)
        with TemporaryFile() as kept:
            copyfileobj(piped if piped else BytesIO(sys.stdin.read().encode()), kept)
            yield kept
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error
    with file:
        yield file


class LinesOf:
    """Repeatable lines of a file, which counts lines that are not UTF-8."""

    def __init__(self, file: BinaryIO, progress: Progress) -> None:
        self._file, self._progress = file, progress
        self.in_old_encoding = 0

    def __iter__(self) -> Iterator[str]:
        self._file.seek(0)
        self._progress.done = 0
        lines = FileLines(as_utf8(iter(lambda: self._file.read(PIECE_SIZE), b"")))
        for line in lines:
            self._progress.advance()
            yield line
        self.in_old_encoding = lines.in_old_encoding

    @property
    def note(self) -> str:
        if not self.in_old_encoding:
            return ""
        return f"{pluralize(self.in_old_encoding, 'line')} were not UTF-8, and were read as {OLD_ENCODING}."


@contextmanager
def refusals(name: str | None) -> Iterator[OnRefused]:
    """Write refused lines, to be corrected and imported."""
    if not name:
        yield None
        return
    try:
        file = Path(name).open("w", encoding="utf-8", newline="")  # noqa: SIM115 - closed below
    except OSError as error:
        raise CommandError(f"{name} cannot be written: {error.strerror}.") from error
    with file:
        writer = csv.writer(file)

        def write(report: ImportReport, lines: Sequence[RefusedRow]) -> None:
            if not file.tell():
                writer.writerow(refused_head(report.names))
            writer.writerows(refused_row(each.line, each.reason, each.cells) for each in lines)

        yield write


def told(report: ImportReport, *, dry_run: bool = False) -> str:
    would = "would be " if dry_run else ""
    counts = f"{report.added} {would}added, {report.updated} updated, {report.unchanged} unchanged"
    repeated = f" {report.repeated} are in the file before." if report.repeated else ""
    nobody = "Nothing was changed." if dry_run else "No email was sent."
    first = f"{counts}, {report.refused_count} refused.{repeated} {nobody}"
    result = f"{summary(report.outcomes, is_done=not dry_run)}."
    return "\n".join([first, result, *filter(None, [not_used(report), report.note]), *refused_lines(report)])


def not_used(report: ImportReport) -> str:
    names = [
        f"“{shortened(name, 40)}”" + (f" (concerns {pluralize(rows, 'line')})" if rows else "")
        for name, rows in report.not_used
    ]
    return f"Not used: {', '.join(names)}." if names else ""


def refused_lines(report: ImportReport) -> list[str]:
    lines = [f"Line {each.line}: {each.reason}" for each in report.refused]
    more = report.refused_count - len(report.refused)
    return [*lines, f"And {more:,} more; --refused FILE writes them all."] if more else lines


def refused_facts(report: ImportReport) -> dict[str, Any]:
    refused = [{"line": each.line, "reason": each.reason} for each in report.refused]
    return {"refused": refused, "refused_count": report.refused_count}


class ListSuppressions(FeedletterCommand):
    help = (
        "Shows the “Do not email” list of addresses that nothing is sent to. “lift_suppression” removes one."
    )
    empty = "The list is empty."
    arguments = (add_paging,)

    def run(self, **options: Any) -> Result:
        rows = page(Suppression.objects.all(), options)
        return (
            {
                "id": row.pk,
                "kind": row.kind,
                "address": row.core,
                "reason": row.reason,
                "since": row.created_at,
            }
            for row in rows
        )


class LiftSuppression(FeedletterCommand):
    help = "Removes an address from the “Do not email” list, so that emails are sent to it again."
    arguments = (argument("address", metavar="ADDRESS", help="An address as “list_suppressions” shows it."),)

    def run(self, **options: Any) -> Result:
        given = options["address"]
        cores = {given}
        for kind in channels.person_kinds():
            with suppress(InvalidDestination):
                cores.add(channels.parse_typed(kind, given).core)
        if not lift(suppressions=Suppression.objects.filter(core__in=cores)):
            raise CommandError(f"{given} is not on the list “Do not email”. “list_suppressions” shows it.")
        return Printed(f"{given} can be emailed again.", {"address": given, "suppressed": False})


class ImportSuppressions(FeedletterCommand):
    help = "Imports addresses into the “Do not email” list from CSV (columns email and reason)."
    arguments = (argument("file", metavar="FILE", help="“-” reads what is piped in."),)

    def run(self, **options: Any) -> Result:
        with opened(options["file"]) as file, self.progress("importing lines") as progress:
            report = import_suppressions(lines=LinesOf(file, progress), now=utcnow())
        counts = f"{report.added} added, {report.unchanged} unchanged, {report.refused_count} refused."
        facts = {"added": report.added, "unchanged": report.unchanged, **refused_facts(report)}
        return Printed("\n".join([counts, *refused_lines(report)]), facts)
