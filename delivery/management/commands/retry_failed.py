"""`retry_failed ISSUE`: queues what failed of an issue again."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from delivery.issues.retry import failed_of, retry_failed
from delivery.management.issue_rows import add_issue, find_issue


class Command(FeedletterCommand):
    help = "Tries every failed delivery of an issue again, but for those that must not be written to."

    def add_options(self, parser: CommandParser) -> None:
        add_issue(parser)
        parser.add_argument("--domain", default="", help="Only those to addresses of this domain.")
        parser.add_argument("--dry-run", action="store_true", help="Only say how many there are.")

    def run(self, **options: Any) -> Result:
        issue, domain = find_issue(options["id"]), options["domain"].lower()
        found = failed_of(issue.pk, domain)
        facts = {"failed": found.retryable + found.skipped, "skipped": found.skipped}
        if options["dry_run"]:
            said = f"{pluralize(found.retryable, 'failed delivery', 'failed deliveries')} can be tried again."
            return Printed(f"{said}{skipped_words(found.skipped)}", {**facts, "queued": 0})
        queued = retry_failed(issue_id=issue.pk, domain=domain, now=utcnow())
        said = f"{pluralize(queued, 'failed delivery', 'failed deliveries')} queued again."
        return Printed(f"{said}{skipped_words(found.skipped)}", {**facts, "queued": queued})


def skipped_words(count: int) -> str:
    return f" {count:,} skipped: suppressed, disabled, or no longer subscribed." if count else ""
