from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from feeds.adding.opml import export_opml
from feeds.management.rows import feed_row
from feeds.models import Feed
from feeds.tags import feeds_tagged


class Command(FeedletterCommand):
    help = "Writes the feeds as OPML 2.0, in a folder for each tag. User names and passwords are left out."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("--output", metavar="FILE", help="Write there instead of printing.")
        parser.add_argument("--tag", metavar="TAG", help="Only feeds with this tag.")

    def run(self, **options: Any) -> Result:
        feeds = Feed.objects.all()
        if options["tag"] is not None:
            feeds = feeds_tagged(feeds, options["tag"])
        if options["json"]:
            return (feed_row(feed) for feed in feeds.order_by("pk").iterator(chunk_size=1000))
        lines = export_opml(feeds)
        if options["output"]:
            save(lines, Path(options["output"]))
        else:
            for line in lines:
                self.stdout.write(line, ending="")
        return None


def save(lines: Iterable[str], path: Path) -> None:
    try:
        with path.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(lines)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
