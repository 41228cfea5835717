"""`alter_letter ID`: another subject or text of a draft."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.written_letters import save_letter
from delivery.management.templates import text_file
from delivery.management.written_letters import add_letter, find_letter, letter_row


class Command(FeedletterCommand):
    help = "Changes a letter of your own that is a draft. What is not given stays as it is."

    def add_options(self, parser: CommandParser) -> None:
        add_letter(parser)
        parser.add_argument("--subject", help="Also its title.")
        parser.add_argument("--file", type=text_file, metavar="FILE", help="Its Markdown.")

    def run(self, **options: Any) -> Result:
        letter, subject, markdown = find_letter(options["id"]), options["subject"], options["file"]
        if subject is None and markdown is None:
            raise CommandError("Give what to change: --subject, --file.")
        save_letter(
            letter_id=letter.pk,
            subject=letter.subject if subject is None else subject,
            markdown=letter.markdown if markdown is None else markdown,
            version=letter.version,
            now=utcnow(),
        )
        return letter_row(find_letter(letter.pk))
