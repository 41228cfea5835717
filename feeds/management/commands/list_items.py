from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import add_paging, page, whole
from common.cli.commands import FeedletterCommand, Result
from feeds.management.options import find_feed
from feeds.management.rows import item_row
from feeds.models import Item


class Command(FeedletterCommand):
    help = "Lists posts: the state of each, and since when."
    empty = "There are no such posts."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--feed", type=whole, metavar="ID", help="Only posts of this feed.")
        parser.add_argument("--state", choices=Item.State.values, help="Only posts in this state.")
        add_paging(parser)

    def run(self, **options: Any) -> Result:
        items = Item.objects.defer("entry")
        if options["feed"] is not None:
            items = items.filter(feed=find_feed(options["feed"]))
        if options["state"]:
            items = items.filter(state=options["state"])
        return (item_row(item) for item in page(items, options))
