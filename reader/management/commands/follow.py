from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from reader.channels.follows import follow_address
from reader.management.rows import follow_row, found_reader, wanted_channel


class Command(FeedletterCommand):
    help = "Follows a feed for a reader, or the best feed of a page. It is read as soon as polls get to it."
    option_names = {"url": "URL", "channel": "--channel"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("url", metavar="URL", help="A feed, or a page that has one.")
        parser.add_argument(
            "--channel", default="home", help="Its name or uid, made if there is none; left out, Home."
        )

    def run(self, **options: Any) -> Result:
        channel = wanted_channel(found_reader(options["name"]), options["channel"])
        with self.progress("looking for feeds"):
            followed = follow_address(channel=channel, url=options["url"])
        return follow_row(followed.follow)
