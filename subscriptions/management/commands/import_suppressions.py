"""`import_suppressions FILE`: suppress addresses from CSV."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from subscriptions.lists.suppressions import import_suppressions
from subscriptions.management.commands.import_subscribers import LinesOf, opened, refused_facts, refused_lines


class Command(FeedletterCommand):
    help = "Takes addresses over into the list “Do not write”, from CSV (columns email and reason)."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="“-” reads what is piped in.")

    def run(self, **options: Any) -> Result:
        with opened(options["file"]) as file, self.progress("importing lines") as progress:
            report = import_suppressions(lines=LinesOf(file, progress), now=utcnow())
        counts = f"{report.added} added, {report.unchanged} unchanged, {report.refused_count} refused."
        facts = {"added": report.added, "unchanged": report.unchanged, **refused_facts(report)}
        return Printed("\n".join([counts, *refused_lines(report)]), facts)
