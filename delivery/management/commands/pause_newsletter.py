"""`pause_newsletter NAME`: nothing of it goes out until it is resumed."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from delivery.issues.pause import pause_newsletter
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Pauses all sending of a newsletter. It goes on collecting posts; its issues wait."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("--reason", default="Paused by hand.", help="Shown in the admin.")

    def run(self, **options: Any) -> Result:
        found = find_subscribable(options["newsletter"])
        paused = pause_newsletter(subscribable_id=found.pk, reason=options["reason"], now=utcnow())
        words = "is paused" if paused else "was paused already"
        return Printed(f"“{found}” {words}.", {"name": found.name, "paused": True, "changed": paused})
