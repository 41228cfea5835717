"""`pause_newsletter NAME`: nothing of it goes out until it is resumed."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.issues.pause import pause_newsletter, still_going
from delivery.models import Issue
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
        count = still_going(issues=Issue.objects.filter(subscribable=found))
        left = f" Up to {pluralize(count, 'letter')} may still go out." if count else ""
        facts = {"name": found.name, "paused": True, "changed": paused, "still_going": count}
        return Printed(f"“{found}” {words}.{left}", facts)
