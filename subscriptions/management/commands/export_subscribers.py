"""`export_subscribers NAME`: write the list as CSV."""

import csv
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.db.lookups import disable_sqlite_mmap
from subscriptions.lists.export import export_subscribers
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.models import Subscribable


class Command(FeedletterCommand):
    help = "Writes the subscribers of a newsletter as CSV, with all that import_subscribers takes."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("--output", metavar="FILE", help="Write there instead of printing.")

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        disable_sqlite_mmap()
        if options["json"]:
            rows = export_subscribers(subscribable=subscribable, exact=True)
            header = next(rows)
            return (dict(zip(header, row, strict=True)) for row in rows)
        if options["output"]:
            self.save(subscribable, Path(options["output"]))
        else:
            write(subscribable, Plain(self.stdout))
        return None

    def save(self, subscribable: Subscribable, path: Path) -> None:
        try:
            with path.open("w", encoding="utf-8", newline="") as file:
                write(subscribable, file)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error


class Plain:
    """stdout without added line ends, since RFC 4180 ends lines with CRLF."""

    def __init__(self, stdout: Any) -> None:
        self.stdout = stdout

    def write(self, text: str) -> None:
        self.stdout.write(text, ending="")


def write(subscribable: Subscribable, file: Any) -> None:
    writer = csv.writer(file)
    for row in export_subscribers(subscribable=subscribable):
        writer.writerow(row)
