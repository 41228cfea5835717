"""`complete`: makes issues of the collections that are complete."""

from typing import Any

from django.core.management.base import CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result
from delivery.services.completing import complete_due
from delivery.services.hurrying import hurry_collections


class Command(FeedletterCommand):
    help = "Makes issues of what has been collected, where it is complete."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="Also what waits after a failure.")

    def run(self, **options: Any) -> Result:
        if options["all"]:
            hurry_collections(now=utcnow())
        with self.progress("completing"):
            return {"completed": complete_due()}
