from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Result
from reader.channels.channels import alter_channel
from reader.channels.filters import change_filters
from reader.management.rows import channel_row, found_channel, found_reader
from reader.models import Channel
from reader.rules.kinds import KINDS


class Command(FeedletterCommand):
    help = "Changes a channel of a reader’s."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("channel", metavar="CHANNEL", help="Its name or uid.")
        parser.add_argument("--unread", choices=Channel.UnreadMode.values, help="What clients say of it.")
        parser.add_argument(
            "--keep-days", type=whole, metavar="N", help="Posts go after so many days; 0: as in the settings."
        )

        parser.add_argument("--layout", choices=Channel.Layout.values, help="How its page shows posts.")
        parser.add_argument(
            "--hide-kind", dest="kinds", action="append", default=[], choices=KINDS, help="Hide these posts."
        )
        parser.add_argument(
            "--hide",
            action="append",
            default=[],
            metavar="TERM",
            help="Hide posts with these words, or /pattern/.",
        )
        parser.add_argument(
            "--keep", action="append", default=[], metavar="TERM", help="Hide posts with none of these terms."
        )
        parser.add_argument("--no-filters", action="store_true", help="Show everything again.")

    def run(self, **options: Any) -> Result:
        channel = found_channel(found_reader(options["name"]), options["channel"])
        changes: dict[str, Any] = {}
        if options["unread"] is not None:
            changes["unread_mode"] = options["unread"]
        if options["keep_days"] is not None:
            changes["keep_days"] = options["keep_days"] or None
        if options["layout"] is not None:
            changes["layout"] = options["layout"]
        filters = {name: options[name] for name in ("kinds", "hide", "keep")}
        if not changes and not any(filters.values()) and not options["no_filters"]:
            raise CommandError("Say what to change: --unread, --keep-days, --layout or filters.")
        if changes:
            channel = alter_channel(channel=channel, **changes)
        if any(filters.values()) or options["no_filters"]:
            with self.progress("asking the filters of what stands there"):
                channel = change_filters(channel=channel, at_once=None, **filters)
        return channel_row(channel)
