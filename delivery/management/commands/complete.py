"""`complete`: makes issues of the collections that are complete."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.complete import complete_due
from delivery.issues.retry import make_collections_due


class Command(FeedletterCommand):
    help = "Makes issues of what has been collected, where it is complete."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="Also what waits after a failure.")

    def run(self, **options: Any) -> Result:
        if options["all"]:
            make_collections_due(now=utcnow())
        with self.progress("completing"):
            return {"completed": complete_due()}
