"""`show_template NAME TEMPLATE`: the source of a mail or page, as the newsletter has it."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from delivery.customisation import current, source_of
from delivery.letters.templates import known_template
from delivery.management.templates import add_template
from delivery.rendering.engine import usual_source
from subscriptions.management.options import find_subscribable


class Command(FeedletterCommand):
    help = "Prints the html of a template, or its text."

    def add_options(self, parser: CommandParser) -> None:
        add_template(parser)
        parser.add_argument("--default", action="store_true", help="The default, not the newsletter's own.")
        parser.add_argument("--text", action="store_true", help="The text part instead of the html.")

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        known = known_template(options["template"])
        row = None if options["default"] else current(newsletter, known.name)
        source = source_of(row) if row else usual_source(known.name)
        if options["text"] and known.is_page:
            raise CommandError("A page has no text part.")
        facts = {
            "template": known.name,
            "version": row.version if row else 0,
            "subject": source.subject,
            "html": source.html,
            "text": source.text,
        }
        # Printed as it is, so that it can go into a file and come back.
        return Printed((source.text if options["text"] else source.html).rstrip("\n"), facts)
