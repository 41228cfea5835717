"""`try_rules NAME`: dry run of a newsletter's rules."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import positive
from common.cli.commands import FeedletterCommand, Result
from subscriptions.collections.post_rules import TRIED, try_rules
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Shows what the rules of a newsletter would do to the posts that stand in its feeds now."
    empty = "Its feeds have not been read yet, or are empty."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("--limit", type=positive, default=TRIED, help="At most so many posts.")

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        return (
            {
                "title": tried.title,
                "kept": tried.is_kept,
                "why_not": tried.reason,
                "changed_by": " ".join(tried.changed_by),
                "trouble": " ".join(tried.troubles),
            }
            for tried in try_rules(subscribable, options["limit"])
        )
