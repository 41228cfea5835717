"""`resume_issue ID`: what was held goes on."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.pause import resume_issue
from delivery.management.issue_rows import add_issue, changed_row, find_issue


class Command(FeedletterCommand):
    help = "Lets a paused issue go on."
    shared_options = (add_issue,)

    def run(self, **options: Any) -> Result:
        pk = find_issue(options["id"]).pk
        resume_issue(issue_id=pk, now=utcnow())
        return changed_row(pk)
