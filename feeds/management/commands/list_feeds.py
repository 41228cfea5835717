"""`list_feeds`: the feeds, and how they do."""

from typing import Any

from django.core.management.base import CommandParser

from common.arguments import add_paging, page
from common.commands import FeedletterCommand, Result
from feeds.management.rows import feed_row
from feeds.models import Feed


class Command(FeedletterCommand):
    help = "Lists the feeds."
    empty = "There are no feeds yet. Add one: add_feed https://example.org/feed.xml"

    def add_options(self, parser: CommandParser) -> None:
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        return (feed_row(feed) for feed in page(Feed.objects.all(), options))
