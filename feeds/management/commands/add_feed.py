"""`add_feed URL`: adds a feed and reads it at once."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.arguments import positive
from common.clock import utcnow
from common.commands import FeedletterCommand, Result
from feeds.management.options import add_timings, timings
from feeds.models import Feed, Item
from feeds.services.adding import add_feed
from feeds.services.polling import poll_feed


class Command(FeedletterCommand):
    help = "Adds a feed and reads it for the first time."
    option_names = {"url": "URL", "start_count": "--last"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("url", metavar="URL", help="Such as https://example.org/feed.xml")
        add_timings(parser, defaults=True)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--from-now", action="store_true", help="Send new posts only (the usual choice).")
        which.add_argument("--last", type=positive, metavar="N", help="Send the last N posts too.")
        which.add_argument("--all", action="store_true", help="Send everything that is in the feed, too.")

    def run(self, **options: Any) -> Result:
        settings: dict[str, Any] = {**start(options), **timings(options)}
        feed = add_feed(url=options["url"], now=utcnow(), **settings)
        with self.progress("reading the feed"):
            result = poll_feed(feed_id=feed.pk, now=utcnow())
        if result is not None and not result.ok:
            raise CommandError(
                f"The feed was added as {feed.pk} but could not be read yet: {result.error} "
                f"It is tried again by itself; “alter_feed {feed.pk} --url …” corrects the address, "
                f"“drop_feed {feed.pk}” removes it."
            )
        feed.refresh_from_db()
        excluded = feed.items.filter(state=Item.State.EXCLUDED).count()
        return {"id": feed.pk, "url": feed.url, "title": feed.title, "items_excluded": excluded}


def start(options: dict[str, Any]) -> dict[str, Any]:
    """Which of the posts that are there already are sent."""
    if options["last"] is not None:
        return {"start": Feed.Start.LAST, "start_count": options["last"]}
    return {"start": Feed.Start.ALL if options["all"] else Feed.Start.FROM_NOW}
