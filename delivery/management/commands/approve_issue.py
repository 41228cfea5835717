"""`approve_issue ID`: lets a draft go, now or at a time."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.approve import approve_issue, release_at
from delivery.management.issue_rows import add_issue, changed_row, find_issue, moment


class Command(FeedletterCommand):
    help = "Lets an issue go that waits for approval."

    def add_options(self, parser: CommandParser) -> None:
        add_issue(parser)
        parser.add_argument(
            "--at", type=moment, metavar="TIME", help="Not now, but then: 2026-03-01T07:00+01:00."
        )

    def run(self, **options: Any) -> Result:
        pk = find_issue(options["id"]).pk
        if options["at"]:
            release_at(issue_id=pk, at=options["at"], now=utcnow())
        else:
            approve_issue(issue_id=pk, now=utcnow())
        return changed_row(pk)
