from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from reader.management.rows import found_reader
from reader.people.readers import drop_reader


class Command(FeedletterCommand):
    help = "Erases a reader: channels, what they follow, marks, keys. Feeds that others follow stay."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="The reader.")
        parser.add_argument("--yes", action="store_true", help="It cannot be undone.")

    def run(self, **options: Any) -> Result:
        reader = found_reader(options["name"])
        if not options["yes"]:
            raise CommandError(f"This erases all that {reader} has here, for ever. Repeat it with --yes.")
        drop_reader(reader=reader, now=utcnow())
        return Printed(f"{options['name']} was erased.", {"name": options["name"]})
