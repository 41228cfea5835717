"""`alter_channel NAME CHANNEL`: how a reader's channel counts, and how long it keeps posts."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Result
from reader.channels.channels import alter_channel
from reader.management.rows import channel_row, found_channel, found_reader
from reader.models import Channel


class Command(FeedletterCommand):
    help = "Changes a channel of a reader’s."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("channel", metavar="CHANNEL", help="Its name or uid.")
        parser.add_argument("--unread", choices=Channel.UnreadMode.values, help="What clients say of it.")
        parser.add_argument(
            "--keep-days", type=whole, metavar="N", help="Posts go after so many days; 0: as in the settings."
        )

    def run(self, **options: Any) -> Result:
        channel = found_channel(found_reader(options["name"]), options["channel"])
        changes: dict[str, Any] = {}
        if options["unread"] is not None:
            changes["unread_mode"] = options["unread"]
        if options["keep_days"] is not None:
            changes["keep_days"] = options["keep_days"] or None
        if not changes:
            raise CommandError("Say what to change: --unread or --keep-days.")
        return channel_row(alter_channel(channel=channel, **changes))
