"""`set_template NAME TEMPLATE --html-file F`: a template of the newsletter's own, if it renders."""

from dataclasses import replace
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.letters.templates import known_template, save_template, source_in_use
from delivery.management.templates import OPTION_NAMES, add_template, template_row, text_file
from subscriptions.management.options import find_subscribable


class Command(FeedletterCommand):
    help = "Saves a new version of a template and takes it into use. What is not given stays as it is."
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        add_template(parser)
        parser.add_argument("--html-file", type=text_file, metavar="FILE", dest="html")
        parser.add_argument("--text-file", type=text_file, metavar="FILE", dest="text")
        parser.add_argument("--subject", help="Empty: the usual one.")
        parser.add_argument(
            "--note", default="", help="What you changed, for those who look at the versions."
        )

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        known = known_template(options["template"])
        given = {part: options[part] for part in OPTION_NAMES if options[part] is not None}
        if not given:
            raise CommandError(f"Give what to change: {', '.join(OPTION_NAMES.values())}.")
        if known.is_page and given.keys() - {"html"}:
            raise CommandError("A page has neither subject nor text: give --html-file alone.")
        row = save_template(
            subscribable=newsletter,
            name=known.name,
            source=replace(source_in_use(newsletter, known.name), **given),
            author="command",
            note=options["note"],
            now=utcnow(),
        )
        return template_row(known, row)
