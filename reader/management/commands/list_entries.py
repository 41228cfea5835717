from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import positive
from common.cli.commands import FeedletterCommand, Result
from reader.management.rows import entry_row, found_channel, found_reader
from reader.rules.order import DEFAULT_LIMIT, Stretch
from reader.timelines.pages import Timeline, page_of


class Command(FeedletterCommand):
    help = "Lists a reader’s posts, newest first."
    empty = "No post is there. “poll” reads feeds that are due, and “place” puts their posts into channels."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("--channel", help="Only in this one.")
        parser.add_argument("--unread", action="store_true", help="Only what is unread.")
        parser.add_argument("--limit", type=positive, default=DEFAULT_LIMIT, help="At most this many.")

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        named = options["channel"]
        timeline = Timeline(reader, found_channel(reader, named) if named is not None else None)
        page = page_of(timeline, Stretch(limit=options["limit"]), unread_only=options["unread"])
        return (entry_row(place, is_read=place.pk not in page.unread) for place in page.places)
