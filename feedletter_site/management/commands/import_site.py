from pathlib import Path
from typing import Any

from django.core.management import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.program import MANAGE
from feedletter_site.export.site import import_site
from feedletter_site.management.commands.export_site import PHRASE_HELP, phrase_of
from feedletter_site.management.commands.up import data_locked


class Command(FeedletterCommand):
    help = (
        "Fills an empty site with what “export_site” wrote. Sending of all newsletters is paused, and nothing"
        " is mailed. Stop both sites first."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="what “export_site” wrote")
        parser.add_argument("--passphrase-file", type=Path, metavar="FILE", help=PHRASE_HELP)
        parser.add_argument("--without-secrets", action="store_true", help="leave its secrets out")

    def run(self, **options: Any) -> Result:
        path, phrase = options["file"], phrase_of(options["passphrase_file"])
        with data_locked(), self.progress("Importing", expected="minutes per million rows") as progress:
            without = options["without_secrets"]
            counts = import_site(path, phrase, without_secrets=without, now=utcnow(), progress=progress)
        total = sum(counts.values())
        told = (
            f"{total:,} rows were imported. Sending is paused: look at the newsletters, then resume them."
            f" Set passwords with “{MANAGE} changepassword NAME” if the archive has none."
        )
        return Printed(told, {"rows": total, "counts": counts})
