from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from feedletter_site import env
from feedletter_site.services.backups import back_up, note_back_up


class Command(FeedletterCommand):
    help = "Copies the whole database to a new file. Keep the SECRET_KEY with it."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="A new file.")

    def run(self, **options: Any) -> Result:
        path: Path = options["file"]
        size = back_up(path)
        note_back_up()
        told = f"{path} has the whole database ({size:,} bytes). Keep {the_key()} with it."
        return Printed(told, {"file": str(path), "bytes": size})


def the_key() -> str:
    """Name where the key is, without which nobody can read the secrets in a copy."""
    _, origin = env.read["SECRET_KEY"]
    return str(settings.DATA_DIR / "secret_key") if origin == "default" else "the SECRET_KEY"
