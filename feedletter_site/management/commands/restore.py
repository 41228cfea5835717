from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser, call_command

from common.cli.commands import FeedletterCommand, Printed, Result
from feedletter_site.management.commands.up import data_locked
from feedletter_site.services.backups import put_back


class Command(FeedletterCommand):
    help = "Replaces the whole database with a backup, and holds everything unsent. Stop the service first."
    # They would query a database that may be damaged.
    requires_system_checks = ()

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="What “backup” wrote.")
        parser.add_argument("--yes", action="store_true", help="Everything in the current database is lost.")

    def run(self, **options: Any) -> Result:
        path: Path = options["file"]
        if not options["yes"]:
            raise CommandError("This replaces the whole database. Stop the service, then add --yes.")
        with data_locked():
            put_back(path)
            call_command("migrate", verbosity=0)
            call_command("after_restore", stdout=self.stderr)
        return Printed(f"The database is that of {path}. Everything unsent is held.", {"file": str(path)})
