from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from feeds.items.held import exclude_held, release
from feeds.management.options import find_feed


class Command(FeedletterCommand):
    help = "Decides on the posts that a feed holds for you. “list_feeds --health held” shows such feeds."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="The feed's number; “list_feeds” shows it.")
        what = parser.add_mutually_exclusive_group(required=True)
        what.add_argument("--send", action="store_true", help="They are sent, once they have settled.")
        what.add_argument(
            "--exclude", action="store_true", help="They are not. “include_item” takes one back."
        )

    def run(self, **options: Any) -> Result:
        feed = find_feed(options["id"])
        decide, words = (release, "let go") if options["send"] else (exclude_held, "excluded")
        count = decide(now=utcnow(), feed_ids=[feed.pk])
        sentence = f"{pluralize(count, 'post')} of {feed} {'was' if count == 1 else 'were'} {words}."
        return Printed(sentence, {"feed": feed.pk, "posts": count, "sent": bool(options["send"])})
