from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from reader.channels.follows import unfollow
from reader.management.rows import found_channel, found_reader
from reader.models import Follow


class Command(FeedletterCommand):
    help = "Ends a reader’s following a feed. The posts that they have of it stay."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("feed", type=whole, metavar="FEED", help="Its number, as list_follows shows it.")
        parser.add_argument("--channel", help="Only in this one; left out, in every channel.")

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        follows = Follow.objects.filter(channel__reader=reader, feed=options["feed"])
        if options["channel"] is not None:
            follows = follows.filter(channel=found_channel(reader, options["channel"]))
        rows = list(follows.select_related("channel", "feed"))
        if not rows:
            raise CommandError(f"{reader} does not follow feed {options['feed']} there.")
        for row in rows:
            unfollow(channel=row.channel, feed=row.feed, now=utcnow())
        where = pluralize(len(rows), "channel")
        return Printed(f"{rows[0].feed} is no longer followed in {where}.", {"channels": len(rows)})
