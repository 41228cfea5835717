"""`send`: sends what is due, within what each lane allows."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result
from delivery.services.hurrying import hurry_deliveries
from delivery.services.sending import send_due


class Command(FeedletterCommand):
    help = "Sends what is due, until nothing is."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--all", action="store_true", help="Also what waits after a temporary failure.")

    def run(self, **options: Any) -> Result:
        if options["all"]:
            hurry_deliveries(now=utcnow())
        with self.progress("sending"):
            return asdict(send_due())
