"""`pause_issue ID`: what is not on its way yet waits."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.pause import pause_issue
from delivery.management.issue_rows import add_issue, changed_row, find_issue


class Command(FeedletterCommand):
    help = "Pauses an issue: what is not on its way yet waits."
    shared_options = (add_issue,)

    def run(self, **options: Any) -> Result:
        pk = find_issue(options["id"]).pk
        pause_issue(issue_id=pk, now=utcnow())
        return changed_row(pk)
