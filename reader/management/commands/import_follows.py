from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.text import pluralize
from feeds.management.commands.import_opml import read
from reader.channels.opml import follow_listed, keep_list, report_of
from reader.management.rows import found_reader, wanted_channel
from reader.models import FollowLine


class Command(FeedletterCommand):
    help = "Follows the feeds of an OPML file for a reader; folders and categories are channels."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("file", metavar="FILE", help="“-” reads what is piped in.")
        parser.add_argument(
            "--channel",
            default="home",
            help="For what is in no folder, made if there is none; left out, Home.",
        )

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        channel = wanted_channel(reader, options["channel"])
        kept = keep_list(reader=reader, body=read(options["file"]), channel=channel, now=utcnow())
        with self.progress("following feeds", total=kept.lines.count()) as progress:
            follow_listed(kept, told=progress.advance)
        report = report_of(kept)
        refused = list(kept.lines.filter(outcome=FollowLine.Outcome.REFUSED))
        lines = [
            f"{pluralize(report.followed, 'feed')} followed, {report.known:,} followed already,"
            f" {report.refused:,} refused."
        ]
        if kept.is_broken:
            lines.append("The file is not well-formed XML: it was read as far as it can be.")
        if report.waiting:
            lines.append(f"{report.waiting:,} are being followed by a worker at the moment.")
        lines += [
            f"Line {line.line}: {f'{line.name}: ' if line.name else ''}{line.reason}" for line in refused
        ]
        facts = {
            "followed": report.followed,
            "known": report.known,
            "refused": [
                {"line": line.line, "title": line.name, "url": line.url, "reason": line.reason}
                for line in refused
            ],
            "waiting": report.waiting,
        }
        return Printed("\n".join(lines), facts)
