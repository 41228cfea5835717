"""`show_letter ID`: a letter of one's own as a reader would get it."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from delivery.issues.broadcast_issue import letter_text
from delivery.letters.preview import preview_written
from delivery.management.broadcasts import add_letter, find_letter, letter_row


class Command(FeedletterCommand):
    help = "Prints a letter of your own as a made-up reader would get it now; sends nothing."

    def add_options(self, parser: CommandParser) -> None:
        add_letter(parser)
        form = parser.add_mutually_exclusive_group()
        form.add_argument("--html", action="store_true", help="The html instead of the text part.")
        form.add_argument("--raw", action="store_true", help="The message as it would go out.")
        form.add_argument("--markdown", action="store_true", help="What was written.")

    def run(self, **options: Any) -> Result:
        letter = find_letter(options["id"])
        shown = preview_written(subscribable=letter.subscribable, text=letter_text(letter), now=utcnow())
        if shown.problem:
            raise CommandError(str(shown.problem))
        forms = {"html": shown.html, "raw": shown.raw, "markdown": letter.markdown, "text": shown.text}
        chosen = next((name for name in forms if options.get(name)), "text")
        return Printed(forms[chosen].rstrip("\n"), {**letter_row(letter), **forms})
