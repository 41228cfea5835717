"""`resume_newsletter NAME`: what was held goes on."""

from typing import Any

from django.core.management.base import CommandParser

from common.clock import utcnow
from common.commands import FeedletterCommand, Result, Told
from common.text import counted
from delivery.services.pausing import resume_newsletter
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Lets a paused newsletter go on."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)

    def run(self, **options: Any) -> Result:
        found = find_subscribable(options["newsletter"])
        queued = resume_newsletter(subscribable_id=found.pk, now=utcnow())
        facts = {"name": found.name, "paused": False, "queued": queued}
        return Told(f"“{found}” goes on: {counted(queued, 'letter')} queued.", facts)
