from pathlib import Path
from typing import Any

from django.core.management import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from feedletter_site.export.rows import SHORTEST
from feedletter_site.export.site import export_site

PHRASE_HELP = "file whose first line is the pass phrase of the secrets"


class Command(FeedletterCommand):
    help = (
        "Writes all that the site has into a new zip file, which “import_site” and other programs can read."
        " Passwords, tokens and keys are in it only with a pass phrase."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, metavar="FILE", help="a file that does not exist yet")
        parser.add_argument("--passphrase-file", type=Path, metavar="FILE", help=PHRASE_HELP)

    def run(self, **options: Any) -> Result:
        path, phrase = options["file"], phrase_of(options["passphrase_file"])
        with self.progress("Exporting", expected="a minute per million rows") as progress:
            lost = export_site(path, phrase, now=utcnow(), progress=progress)
        size = path.stat().st_size
        sentences = [f"{path} has the whole site ({size:,} bytes). Keep it private."]
        if lost:
            names = ", ".join(f"{name} ({count:,})" for name, count in lost.items())
            sentences.append(f"Left out, because there is no --passphrase-file: {names}.")
        return Printed("\n".join(sentences), {"file": str(path), "bytes": size, "left_out": lost})


def phrase_of(path: Path | None) -> str:
    """Raises CommandError."""
    if path is None:
        return ""
    try:
        phrase = (path.read_text(encoding="utf-8").splitlines() or [""])[0]
    except (OSError, UnicodeError) as error:
        raise CommandError(f"--passphrase-file: {path} cannot be read.") from error
    if len(phrase) < SHORTEST:
        raise CommandError(f"--passphrase-file: its first line needs {SHORTEST} characters or more.")
    return phrase
