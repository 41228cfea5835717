"""`reset_template NAME TEMPLATE`: back to the default, or to an earlier version."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find, positive
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from delivery.letters.templates import known_template, use_again, use_default
from delivery.management.templates import OPTION_NAMES, add_template, template_row
from delivery.models import LetterTemplate
from subscriptions.management.options import find_subscribable


class Command(FeedletterCommand):
    help = "Goes back to the default template, or to an earlier version; the versions are kept."
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        add_template(parser)
        parser.add_argument("--to", type=positive, metavar="VERSION", help="Use this version again.")

    def run(self, **options: Any) -> Result:
        newsletter = find_subscribable(options["newsletter"])
        known = known_template(options["template"])
        if options["to"] is None:
            use_default(subscribable=newsletter, name=known.name)
            return template_row(known, None)
        rows = LetterTemplate.objects.filter(subscribable=newsletter, name=known.name)
        version = find(
            rows.select_related("subscribable"),
            "version",
            f"The newsletter has {rows.count()} of {known.name}.",
            version=options["to"],
        )
        return template_row(known, use_again(version=version, author="command", now=utcnow()))
