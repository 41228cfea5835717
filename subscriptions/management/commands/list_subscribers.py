"""`list_subscribers NAME`: subscribers of any status."""

from typing import Any

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from subscriptions.management.options import add_newsletter, find_subscribable
from subscriptions.management.rows import subscriber_row, with_suppressed


class Command(FeedletterCommand):
    help = "Lists the subscribers of a newsletter, whatever their status."
    empty = "There are no subscribers yet. Add one: subscribe NAME --email ada@example.org"
    shared_options = (add_newsletter, add_paging)

    def run(self, **options: Any) -> Result:
        rows = with_suppressed(find_subscribable(options["newsletter"]).subscriptions.all())
        return (subscriber_row(row) for row in page(rows, options))
