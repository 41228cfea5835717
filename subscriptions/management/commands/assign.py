"""`assign`: put final posts into their collections."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from subscriptions.collections.assign import assign_final


class Command(FeedletterCommand):
    help = "Puts the posts that have settled into the letters they belong to."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--all",
            action="store_true",
            help="Also those that failed a moment ago and wait for the next try.",
        )

    def run(self, **options: Any) -> Result:
        with self.progress("assigning"):
            return {"assigned": assign_final(ignore_back_off=options["all"])}
