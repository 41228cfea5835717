"""`cancel_issue ID`: what is not on its way yet never goes."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.pause import cancel_issue
from delivery.management.issue_rows import add_issue, changed_row, find_issue


class Command(FeedletterCommand):
    help = "Cancels the rest of an issue. What is being sent at this moment finishes."
    shared_options = (add_issue,)

    def run(self, **options: Any) -> Result:
        pk = find_issue(options["id"]).pk
        cancel_issue(issue_id=pk, now=utcnow())
        return changed_row(pk)
