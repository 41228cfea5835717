import csv
import gc
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from shlex import quote
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from django.core.management.base import CommandError

from common.cli.commands import FeedletterCommand, Printed, Result, argument
from common.cli.progress import Progress
from common.clock import utcnow
from common.db.lookups import disable_sqlite_mmap
from common.uploads import PIECE_SIZE
from subscriptions.lists.importer import (
    AmbiguousColumns,
    OnRefused,
    harm,
    import_subscribers,
    import_suppressions,
    lost_dates_words,
    try_subscribers,
    unused_words,
)
from subscriptions.lists.reading import ImportReport, RefusedRow, Terms, refused_head, refused_row
from subscriptions.lists.undo import end_record, record_import, undo_import, undone_words
from subscriptions.lists.uploads import FileLines, as_utf8
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.models import ListImport
from subscriptions.rules.lists.encodings import ENCODINGS, encoding_words, likely_encodings
from subscriptions.rules.lists.headings import MEANINGS
from subscriptions.rules.lists.rows import ORDERS, OUTCOMES, summary
from subscriptions.rules.lists.statuses import LIST_STATUSES

# Seconds after which the speed is shown.
LONG = 10.0
REFUSED_SHOWN = 5


ENCODING = argument("--encoding", choices=ENCODINGS, default="", help="Encoding of lines that are not UTF-8.")


class ImportSubscribers(FeedletterCommand):
    help = "Imports subscribers from CSV (columns email, name, status, added and more; only email is needed)."
    arguments = (
        add_newsletter,
        argument("file", metavar="FILE", help="“-” reads what is piped in."),
        argument("--dry-run", action="store_true", help="Show what would happen; change nothing."),
        argument(
            "--status",
            choices=LIST_STATUSES,
            default="",
            help="Status of lines without one (usually unconfirmed). Nobody becomes more than that.",
        ),
        argument(
            "--consent", metavar="WORDS", default="", help="How they agreed, stored as proof of consent."
        ),
        argument(
            "--columns",
            "--column",
            dest="column",
            metavar="HEADING=MEANING",
            action="append",
            default=[],
            help=(
                "Meaning of a column: one of our names; “suppressed” or “unsubscribed”, for people who have"
                " something in it; “subscribed”, for a column where no or nothing means that they left (with"
                " “verified”, that they have not confirmed); “notes”, where words say that somebody left; or"
                " “ignore”. May be given several times."
            ),
        ),
        argument(
            "--word",
            metavar="WORD=STATUS",
            action="append",
            default=[],
            help="Status that a word in a column of statuses means. May be given several times.",
        ),
        ENCODING,
        argument(
            "--dates",
            choices=ORDERS,
            default="",
            help="Whether dates such as 3/4/2026 begin with the day or the month.",
        ),
        argument("--refused", metavar="FILE", help="Write refused lines to this file as CSV."),
        argument(
            "--yes",
            action="store_true",
            help="Import even if most of the list would be refused, or would get no more emails.",
        ),
    )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        disable_sqlite_mmap()
        # A full collection looks at all of Django, 0.1 s every 8,000 lines.
        gc.freeze()
        terms = Terms(
            options["status"],
            options["consent"],
            pairs("--columns", "HEADING=MEANING", options["column"], MEANINGS),
            options["dates"],
            pairs("--word", "WORD=STATUS", options["word"], LIST_STATUSES),
        )
        given: dict[str, Any] = {"subscribable": subscribable, "terms": terms, "now": utcnow()}
        is_trial, began, row = options["dry_run"], time.monotonic(), None
        with (
            opened(options["file"]) as file,
            refusals(options["refused"]) as on_refused,
            self.progress("checking lines") as progress,
        ):
            lines = LinesOf(file, progress, options["encoding"])
            lines.check()
            try:
                if is_trial or not options["yes"]:
                    report = try_subscribers(
                        **given, lines=lines, on_refused=on_refused if is_trial else None
                    )
                    if not is_trial and (warning := harm(report, subscribable, terms)):
                        first = refused_lines(report)[:REFUSED_SHOWN]
                        sentence = f"{warning} Nothing was changed. If this is right, add --yes."
                        raise CommandError(" ".join([sentence, *first]))
                if not is_trial:
                    row = record_import(**given, name=options["file"])
                    report = import_subscribers(**given, lines=lines, on_refused=on_refused, into=row)
            except AmbiguousColumns as error:
                meant = " ".join(
                    f"--columns {quote(f'{name}={each}')}" for name, each in error.advice.items()
                )
                example = f" For example: {meant}" if meant else ""
                raise CommandError(f"{' '.join(error.messages)}{example}") from error
        text, seconds = told(report, dry_run=is_trial), time.monotonic() - began
        if seconds >= LONG:
            text += f"\n{progress.done:,} lines in {seconds:.0f} s, {progress.done / seconds:,.0f} a second."
        facts: dict[str, Any] = {name: getattr(report, name) for name in ("added", "updated", "unchanged")}
        if row is None:
            facts["repeated"] = report.repeated
        else:
            end_record(row, report, now=utcnow())
            facts["import"] = row.pk
            text += f"\n“undo_import {row.pk}” undoes this within {row.UNDONE_FOR.days} days."
        facts["outcomes"] = {kind: report.outcomes[kind] for kind in OUTCOMES if kind != "repeated"}
        facts["not_used"] = [
            {"column": name, "concerns": rows, "addresses": addresses}
            for name, rows, addresses in report.not_used
        ]
        return Printed(text, {**facts, "lost_dates": report.lost_dates, **refused_facts(report)})


def pairs(option: str, form: str, given: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """Raises CommandError for an unknown value."""
    result = {}
    for pair in given:
        name, _, value = pair.rpartition("=")
        if not name or value not in values:
            _, _, after = form.partition("=")
            raise CommandError(
                f"{option} {pair}: write {form}, the {after.lower()} one of {', '.join(values)}."
            )
        result[name] = value
    return result


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
    """Repeatable lines of a file."""

    def __init__(self, file: BinaryIO, progress: Progress, encoding: str = "") -> None:
        self._file, self._progress, self._encoding = file, progress, encoding

    def __iter__(self) -> Iterator[str]:
        self._progress.done = 0
        for line in self._lines():
            self._progress.advance()
            yield line

    def _lines(self) -> FileLines:
        self._file.seek(0)
        return FileLines(as_utf8(iter(lambda: self._file.read(PIECE_SIZE), b"")), encoding=self._encoding)

    def check(self) -> None:
        """Raises CommandError if some lines are not UTF-8, and nobody has said what they are."""
        lines = self._lines()
        for _ in lines:
            pass
        if lines.foreign_count and not self._encoding:
            words = encoding_words(lines.foreign_count, likely_encodings(lines.foreign))
            raise CommandError(f"{words} Give --encoding. Nothing was imported.")


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
    notes = filter(None, (*unused_words(report.not_used), lost_dates_words(report.lost_dates), report.note))
    return "\n".join([first, result, *notes, *refused_lines(report)])


def refused_lines(report: ImportReport) -> list[str]:
    lines = [f"Line {each.line}: {each.reason}" for each in report.refused]
    more = report.refused_count - len(report.refused)
    return [*lines, f"And {more:,} more; --refused FILE writes them all."] if more else lines


def refused_facts(report: ImportReport) -> dict[str, Any]:
    refused = [{"line": each.line, "reason": each.reason} for each in report.refused]
    return {"refused": refused, "refused_count": report.refused_count}


class UndoImport(FeedletterCommand):
    help = "Undoes the import of a list, of the last seven days, as far as people did nothing since."
    arguments = (
        argument("id", metavar="ID", type=int, help="As “import_subscribers” and its page show it."),
    )

    def run(self, **options: Any) -> Result:
        row = ListImport.objects.filter(pk=options["id"]).first()
        if row is None:
            raise CommandError(f"There is no import {options['id']}.")
        done = undo_import(row, now=utcnow())
        return Printed(undone_words(done), dict(done))


class ImportSuppressions(FeedletterCommand):
    help = "Imports addresses into the “Do not email” list from CSV (columns email and reason)."
    arguments = (argument("file", metavar="FILE", help="“-” reads what is piped in."), ENCODING)

    def run(self, **options: Any) -> Result:
        with opened(options["file"]) as file, self.progress("importing lines") as progress:
            lines = LinesOf(file, progress, options["encoding"])
            lines.check()
            report = import_suppressions(lines=lines, now=utcnow())
        counts = f"{report.added} added, {report.unchanged} unchanged, {report.refused_count} refused."
        facts = {"added": report.added, "unchanged": report.unchanged, **refused_facts(report)}
        return Printed("\n".join([counts, *refused_lines(report)]), facts)
