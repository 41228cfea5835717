"""`write_letter NAME --subject S --file F`: a draft of a letter of one's own; sends nothing."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.issues.audience import chosen_audience
from delivery.issues.broadcasts import begin_letter
from delivery.management.broadcasts import add_audience, letter_row, named_audience
from delivery.management.templates import text_file
from subscriptions.management.options import add_newsletter, find_subscribable


class Command(FeedletterCommand):
    help = "Begins a letter of your own to a newsletter's subscribers. “send_letter” sends it."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("--subject", required=True, help="Also its title.")
        parser.add_argument("--file", type=text_file, required=True, metavar="FILE", help="Its Markdown.")
        add_audience(parser)

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        letter = begin_letter(
            subscribable=newsletter,
            audience=chosen_audience(newsletter, **named_audience(options)),
            subject=options["subject"],
            markdown=options["file"],
            author="command",
            now=utcnow(),
        )
        return letter_row(letter)
