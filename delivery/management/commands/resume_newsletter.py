"""`resume_newsletter NAME`: what was held goes on."""

from typing import Any

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.issues.pause import resume_newsletter
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Lets a paused newsletter go on."
    shared_options = (add_newsletter,)

    def run(self, **options: Any) -> Result:
        found = find_subscribable(options["newsletter"])
        queued = resume_newsletter(subscribable_id=found.pk, now=utcnow())
        facts = {"name": found.name, "paused": False, "queued": queued}
        return Printed(f"“{found}” goes on: {pluralize(queued, 'letter')} queued.", facts)
