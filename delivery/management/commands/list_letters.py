"""`list_letters`: letters of one's own: drafts, what is scheduled, and what has gone out."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from delivery.issues.broadcasts import in_letter_state
from delivery.management.broadcasts import all_letters, letter_row
from delivery.models.issue import LETTER_STATES
from subscriptions.management.options import find_subscribable


class Command(FeedletterCommand):
    help = "Lists letters of your own: drafts, what is scheduled, and what has gone out."
    empty = "There are no such letters."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--newsletter", metavar="NAME", help="Only those of this newsletter.")
        parser.add_argument("--state", choices=LETTER_STATES, help="Only those that stand so.")
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        rows = all_letters().defer("markdown")
        if options["newsletter"]:
            rows = rows.filter(subscribable=find_subscribable(options["newsletter"]))
        if options["state"]:
            rows = in_letter_state(rows, options["state"])
        return (letter_row(row) for row in page(rows, options))
