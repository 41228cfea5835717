from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from reader.management.rows import follow_row, found_channel, found_reader
from reader.models import Follow


class Command(FeedletterCommand):
    help = "Lists what a reader follows."
    empty = "Nothing is followed there. Begin with: follow NAME https://example.org"

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("--channel", help="Only in this one.")

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        rows = Follow.objects.of(reader).select_related("channel", "feed")
        if options["channel"] is not None:
            rows = rows.filter(channel=found_channel(reader, options["channel"]))
        return map(follow_row, rows.order_by("channel__position", "channel", "pk").iterator())
