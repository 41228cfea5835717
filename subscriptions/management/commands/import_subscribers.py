"""`import_subscribers NAME FILE`: takes over a list from CSV. Mails no one."""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from io import TextIOWrapper
from typing import Any, TextIO

from django.core.management.base import CommandError, CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result, Told
from common.progress import Progress
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.services.lists import ImportReport, import_subscribers

LONGEST_LINE = 64 * 1024


class Command(FeedletterCommand):
    help = "Takes over subscribers from CSV (columns email, name, status, added; only email is needed)."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("file", metavar="FILE", help="“-” reads what is piped in.")

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        with opened(options["file"]) as file, self.progress("importing lines") as progress:
            report = import_subscribers(
                subscribable=subscribable, lines=watched(file, progress), now=utcnow()
            )
        facts = {
            "added": report.added,
            "updated": report.updated,
            "unchanged": report.unchanged,
            "refused": [{"line": line, "reason": reason} for line, reason in report.refused],
        }
        return Told(told(report), facts)


def opened(name: str) -> AbstractContextManager[TextIO]:
    """The file as text. What is not UTF-8 is marked, and refused line by line."""
    try:
        if name == "-":
            buffer = getattr(sys.stdin, "buffer", None)
            return nullcontext(
                TextIOWrapper(buffer, encoding="utf-8-sig", errors="replace", newline="")
                if buffer
                else sys.stdin
            )
        return open(name, encoding="utf-8-sig", errors="replace", newline="")
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error


def watched(file: TextIO, progress: Progress) -> Iterator[str]:
    """The lines, in pieces where one is absurdly long."""
    for line in iter(lambda: file.readline(LONGEST_LINE), ""):
        progress.advance()
        yield line


def told(report: ImportReport) -> str:
    counts = f"{report.added} added, {report.updated} updated, {report.unchanged} unchanged"
    refused = [f"Line {line}: {reason}" for line, reason in report.refused]
    return "\n".join([f"{counts}, {len(refused)} refused. No one was mailed.", *refused])
