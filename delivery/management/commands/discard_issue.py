"""`discard_issue ID`: a draft that is never sent; `--undo` takes that back."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.approve import discard_issue, restore_issue
from delivery.management.issue_rows import add_issue, changed_row, find_issue


class Command(FeedletterCommand):
    help = "Discards an issue that waits for approval. Its posts stay issued."

    def add_options(self, parser: CommandParser) -> None:
        add_issue(parser)
        parser.add_argument(
            "--undo", action="store_true", help="Let a discarded one wait for approval again."
        )

    def run(self, **options: Any) -> Result:
        pk = find_issue(options["id"]).pk
        if options["undo"]:
            restore_issue(issue_id=pk)
        else:
            discard_issue(issue_id=pk, now=utcnow())
        return changed_row(pk)
