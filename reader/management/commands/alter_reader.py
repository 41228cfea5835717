from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Result
from reader.management.rows import found_reader
from reader.people.readers import set_max_feeds


class Command(FeedletterCommand):
    help = "Changes the limits of a reader."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument(
            "--max-feeds",
            type=whole,
            required=True,
            metavar="N",
            help="How many feeds they may follow; 0: as READER_MAX_FEEDS says.",
        )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        set_max_feeds(reader=reader, max_feeds=options["max_feeds"] or None)
        return {"name": reader.slug, "max_feeds": reader.max_feeds}
