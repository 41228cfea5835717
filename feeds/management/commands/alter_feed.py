"""`alter_feed ID`: changes a feed's address, title, timings or status."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.arguments import whole
from common.commands import FeedletterCommand, Result, Told
from feeds.management.options import add_timings, find_feed, timings
from feeds.management.rows import feed_row
from feeds.services.editing import alter_feed


class Command(FeedletterCommand):
    help = "Changes a feed."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")
        parser.add_argument("--url", help="The new address; what is there at its first reading is not sent.")
        parser.add_argument("--title")
        parser.add_argument(
            "--status",
            choices=("active", "paused", "stopped"),
            help="Paused and stopped feeds are not read, and no letter waits for them.",
        )
        add_timings(parser, defaults=False)

    def run(self, **options: Any) -> Result:
        named = {name: options[name] for name in ("url", "title", "status") if options[name] is not None}
        changes = {**named, **timings(options)}
        if not changes:
            raise CommandError("There is nothing to change: give at least one option, such as --title.")
        feed = alter_feed(feed=find_feed(options["id"]), **changes)
        said = ", ".join(f"{name.replace('_', ' ')} is now {value}" for name, value in changes.items())
        return Told(f"Feed {feed.pk}: {said}.", feed_row(feed))
