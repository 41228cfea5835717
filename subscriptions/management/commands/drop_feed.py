"""`drop_feed ID [--force]`: deletes a feed with its posts."""

from typing import Any

from django.core.management.base import CommandParser

from common.arguments import whole
from common.clock import utcnow
from common.commands import FeedletterCommand, Result, Told
from feeds.management.options import find_feed
from subscriptions.services.dropping import Refused, drop_feed


class Command(FeedletterCommand):
    help = "Deletes a feed. Refuses while posts of it are still to be sent, unless forced."
    mistakes = (Refused,)

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")
        parser.add_argument(
            "--force", action="store_true", help="Stop reading now; delete once its last posts went out."
        )

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        said = drop_feed(feed=feed, force=options["force"], now=utcnow())
        return Told(said, {"id": options["id"], "message": said})
