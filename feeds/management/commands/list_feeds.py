from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page
from common.cli.commands import FeedletterCommand, Result
from feeds.management.rows import feed_row
from feeds.models import Feed
from feeds.models.feed import HEALTH
from feeds.tags import feeds_tagged


class Command(FeedletterCommand):
    help = "Lists the feeds."
    empty = "There are no feeds yet. Add one: add_feed https://example.org/feed.xml"

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--tag", metavar="TAG", help="Only feeds with this tag.")
        parser.add_argument("--health", choices=HEALTH, help="Only feeds that are so.")
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        feeds = Feed.objects.all()
        if options["tag"] is not None:
            feeds = feeds_tagged(feeds, options["tag"])
        if options["health"] is not None:
            feeds = feeds.in_health(options["health"])
        if options["tag"] is not None or options["health"] is not None:
            self.empty = "There are no such feeds."
        return (feed_row(feed) for feed in page(feeds, options))
