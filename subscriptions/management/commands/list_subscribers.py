"""`list_subscribers NAME`: who gets a newsletter, who left, who never confirmed."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.management.rows import subscriber_row, with_suppressed


class Command(FeedletterCommand):
    help = "Lists the subscribers of a newsletter, whatever their status."
    empty = "There are no subscribers yet. Add one: subscribe NAME --email ada@example.org"

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        rows = with_suppressed(find_subscribable(options["newsletter"]).subscriptions.all())
        return (subscriber_row(row) for row in page(rows, options))
