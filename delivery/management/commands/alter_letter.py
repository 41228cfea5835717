"""`alter_letter ID`: another subject or text of a draft, or other readers."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.audience import altered_audience
from delivery.issues.broadcasts import save_letter
from delivery.management.broadcasts import (
    add_audience,
    add_letter,
    find_letter,
    letter_row,
    named_audience,
)
from delivery.management.templates import text_file
from delivery.rules.audience import EVERY_READER


class Command(FeedletterCommand):
    help = "Changes a letter of your own that is a draft. What is not given stays as it is."

    def add_options(self, parser: CommandParser) -> None:
        add_letter(parser)
        parser.add_argument("--subject", help="Also its title.")
        parser.add_argument("--file", type=text_file, metavar="FILE", help="Its Markdown.")
        add_audience(parser)
        parser.add_argument("--to-all", action="store_true", help="To every reader of its newsletter.")

    def run(self, **options: Any) -> Result:
        letter, subject, markdown = find_letter(options["id"]), options["subject"], options["file"]
        named, to_all = named_audience(options), options["to_all"]
        if named and to_all:
            raise CommandError("--to-all is everybody: give it alone, or say to whom it goes.")
        if subject is None and markdown is None and not named and not to_all:
            raise CommandError("Give what to change: --subject, --file, --tag, --not-tag, --also, --to-all.")
        save_letter(
            letter_id=letter.pk,
            subject=subject,
            markdown=markdown,
            audience=EVERY_READER if to_all else altered_audience(letter, **named) if named else None,
            version=letter.version,
            now=utcnow(),
        )
        return letter_row(find_letter(letter.pk))
