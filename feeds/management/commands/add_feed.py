from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import positive
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.net.client import keeps_secrets
from feeds.adding.add import add_feed, feed_at
from feeds.adding.discover import Discovery, discover
from feeds.addresses import is_address
from feeds.credentials import split_address, without_secrets
from feeds.management.options import (
    OPTION_NAMES,
    add_credentials,
    add_settings,
    add_timings,
    credentials,
    settings,
    timings,
)
from feeds.models import Feed, Item
from feeds.polling.poll import poll_feed

Access = dict[str, str] | None


class Command(FeedletterCommand):
    help = "Adds a feed and reads it for the first time."
    option_names = {**OPTION_NAMES, "url": "URL", "start_count": "--last"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "url", metavar="URL", help="A feed, or a page that has one, such as https://example.org"
        )
        parser.add_argument("--title", help="Left out, it is what the feed calls itself.")
        parser.add_argument(
            "--tag", action="append", default=[], metavar="TAG", help="May be given several times."
        )
        add_timings(parser, defaults=True)
        add_settings(parser)
        add_credentials(parser)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--from-now", action="store_true", help="Send new posts only (the usual choice).")
        which.add_argument("--last", type=positive, metavar="N", help="Send the last N posts too.")
        which.add_argument("--all", action="store_true", help="Send everything that is in the feed, too.")

    def run(self, **options: Any) -> Result:
        chosen: dict[str, Any] = {**start(options), **timings(options), **settings(options)}
        if options["title"] is not None:
            chosen["title"] = options["title"]
        # The address may contain them.
        access = credentials(options) or split_address(options["url"])[1] or None
        url, access = self.found(options["url"], access)
        if (there := feed_at(url)) is not None:
            raise CommandError(f"Feed {there.pk} has this address already. “show_feed {there.pk}” shows it.")
        feed = add_feed(url=url, now=utcnow(), tags=options["tag"], credentials=access, **chosen)
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

    def found(self, url: str, access: Access) -> tuple[str, Access]:
        """Return the address to watch, given or found in its page, and its credentials."""
        with self.progress("looking for feeds"):
            discovery = discover(url, now=utcnow(), credentials=access)
        if discovery.may_be_a_feed or (discovery.is_feed and is_address(url.strip())):
            return url, access
        if discovery.best is None:
            raise CommandError(discovery.problem)
        if discovery.only is None and not discovery.is_feed:
            raise CommandError(several(discovery))
        feed = (discovery.only or discovery.best).url
        if not discovery.is_feed:
            self.note(f"{without_secrets(url)} is a page; its feed is {feed}")
        # Another host must not get them.
        return feed, access if keeps_secrets(discovery.asked, feed) else None


def several(found: Discovery) -> str:
    listed = "; ".join(f"{one.title}: {one.url}" for one in found.candidates)
    return f"The page has several feeds. Give the address of one of them: {listed}"


def start(options: dict[str, Any]) -> dict[str, Any]:
    if options["last"] is not None:
        return {"start": Feed.Start.LAST, "start_count": options["last"]}
    return {"start": Feed.Start.ALL if options["all"] else Feed.Start.FROM_NOW}
