from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from feedletter_site.monitoring.first_steps import note_back_up
from feedletter_site.services.backups import back_up


class Command(FeedletterCommand):
    help = "Writes a copy of the whole database into a new file. Keep the SECRET_KEY beside it."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="A file that is not there yet.")

    def run(self, **options: Any) -> Result:
        path: Path = options["file"]
        size = back_up(path)
        note_back_up()
        return Printed(f"{path} has the whole database ({size:,} bytes).", {"file": str(path), "bytes": size})
