"""`list_issues`: what was or will be sent, and how far each is."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from delivery.issues.progress import in_state
from delivery.management.issue_rows import issue_rows, issues
from delivery.rules.progress import STATES
from subscriptions.management.options import find_subscribable


class Command(FeedletterCommand):
    help = "Lists issues: drafts, what is being sent, and what went out."
    empty = "There are no such issues."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--newsletter", metavar="NAME", help="Only those of this newsletter.")
        parser.add_argument("--state", choices=STATES, help="Only those that stand so.")
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        rows = issues()
        if options["newsletter"]:
            rows = rows.filter(subscribable=find_subscribable(options["newsletter"]))
        if options["state"]:
            rows = in_state(rows, options["state"])
        return issue_rows(page(rows, options))
