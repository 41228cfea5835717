from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from feeds.adding.candidates import Candidate
from feeds.adding.discover import discover
from feeds.management.options import OPTION_NAMES, add_credentials, credentials


class Command(FeedletterCommand):
    help = "Looks for the feeds of a page, a channel, a profile or a repository. Adds nothing."
    option_names = {**OPTION_NAMES, "url": "URL"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("url", metavar="URL", help="Any address, such as example.org")
        add_credentials(parser)

    def run(self, **options: Any) -> Result:
        access = credentials(options)
        with self.progress("looking for feeds"):
            discovery = discover(options["url"], now=utcnow(), credentials=access)
        if not discovery.candidates:
            raise CommandError(discovery.problem)
        if discovery.unread:
            self.note(f"The page names {discovery.unread} more, which were not looked at.")
        return [row(one) for one in discovery.candidates]


def row(one: Candidate) -> dict[str, Any]:
    return {
        "url": one.url,
        "title": one.title,
        "format": one.format,
        "posts": one.posts,
        "newest": max((post.published for post in one.latest if post.published), default=None),
        "comments": one.is_comments,
        "watched_by": one.feed_id,
        "warnings": list(one.warnings),
    }
