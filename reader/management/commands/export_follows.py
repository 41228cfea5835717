from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from feeds.management.commands.export_opml import save
from reader.channels.opml import export_follows
from reader.management.rows import follow_row, found_reader
from reader.models import Follow


class Command(FeedletterCommand):
    help = "Writes what a reader follows as OPML 2.0, in a folder for each channel, without passwords."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("--output", metavar="FILE", help="Write there instead of printing.")

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        if options["json"]:
            rows = Follow.objects.of(reader).select_related("channel", "feed")
            return map(follow_row, rows.order_by("channel__position", "channel", "pk").iterator())
        lines = export_follows(reader, now=utcnow())
        if options["output"]:
            save(lines, Path(options["output"]))
        else:
            for line in lines:
                self.stdout.write(line, ending="")
        return None
