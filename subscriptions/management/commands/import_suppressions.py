"""`import_suppressions FILE`: addresses that must not be written to, from CSV."""

from typing import Any

from django.core.management.base import CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result, Told
from subscriptions.management.commands.import_subscribers import opened, watched
from subscriptions.services.suppressing import import_suppressions


class Command(FeedletterCommand):
    help = "Takes over addresses that must not be written to, from CSV (columns email and reason)."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", metavar="FILE", help="“-” reads what is piped in.")

    def run(self, **options: Any) -> Result:
        with opened(options["file"]) as file, self.progress("importing lines") as progress:
            report = import_suppressions(lines=watched(file, progress), now=utcnow())
        counts = f"{report.added} added, {report.unchanged} unchanged, {len(report.refused)} refused."
        refused = [{"line": line, "reason": reason} for line, reason in report.refused]
        lines = [counts, *(f"Line {one['line']}: {one['reason']}" for one in refused)]
        facts = {"added": report.added, "unchanged": report.unchanged, "refused": refused}
        return Told("\n".join(lines), facts)
