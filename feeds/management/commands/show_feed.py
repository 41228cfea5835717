from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import positive, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.tables import record, table_lines
from common.clock import utcnow
from feeds.admin.words import next_reading
from feeds.items.history import KEPT_PER_FEED, readings
from feeds.management.options import find_feed
from feeds.management.rows import feed_row, poll_row
from feeds.models import Feed

SHOWN = 20
FOR_PROGRAMS = ("origin", "next_poll_at", "excluded", "final")


class Command(FeedletterCommand):
    help = "Shows a feed: its state, when it is read next and why, and how its last readings went."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")
        parser.add_argument(
            "--readings",
            type=positive,
            default=SHOWN,
            metavar="N",
            help=f"How many of the last readings (usually {SHOWN}, at most {KEPT_PER_FEED}, which are kept).",
        )

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        rows = [poll_row(poll) for poll in readings(feed, limit=options["readings"])]
        return Printed(self.page(feed, rows), {**facts(feed), "readings": rows})

    def page(self, feed: Feed, rows: list[dict[str, Any]]) -> str:
        paint = self.paint()
        known = record({**facts(feed), "next_reading": next_reading(feed, utcnow())}, paint=paint)
        shown = table_lines(map(short, rows), paint=paint) if rows else ["It has not been read so far."]
        return "\n".join([*known, "", *shown])


def short(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in FOR_PROGRAMS}


def facts(feed: Feed) -> dict[str, Any]:
    return {
        **feed_row(feed),
        "failures": feed.failures,
        "failing_since": feed.failing_since,
        "next_poll_why": feed.next_poll_why,
        "warning": feed.warning,
    }
