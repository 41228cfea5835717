"""`send_late ISSUE`: sends an issue to those who subscribed after it was published."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.issues.publish import late_subscribers, send_late
from delivery.management.issue_rows import add_issue, find_issue


class Command(FeedletterCommand):
    help = "Sends an issue to subscribers who confirmed after it was published, each once."

    def add_options(self, parser: CommandParser) -> None:
        add_issue(parser)
        parser.add_argument("--dry-run", action="store_true", help="Only say how many there are.")

    def run(self, **options: Any) -> Result:
        issue = find_issue(options["id"])
        if options["dry_run"]:
            late = late_subscribers(issue).count()
            return Printed(f"{pluralize(late, 'late subscriber')}.", {"late": late, "queued": 0})
        queued = send_late(issue_id=issue.pk, now=utcnow())
        return Printed(
            f"It is on its way to {pluralize(queued, 'late subscriber')}.", {"late": queued, "queued": queued}
        )
