"""`drop_feed ID [--force]`: delete a feed with its posts."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from feeds.management.options import find_feed
from subscriptions.collections.drop import drop_feed


class Command(FeedletterCommand):
    help = "Deletes a feed. Refuses while posts of it are still to be sent, unless forced."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")
        parser.add_argument(
            "--force", action="store_true", help="Stop reading now; delete once its last posts went out."
        )

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        said = drop_feed(feed=feed, force=options["force"], now=utcnow())
        return Printed(said, {"id": options["id"], "message": said})
