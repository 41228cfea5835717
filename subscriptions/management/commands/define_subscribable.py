"""`define_subscribable NAME`: a new newsletter or bridge."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import pairs
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from subscriptions.management.options import OPTION_NAMES, add_fields, feeds, fields
from subscriptions.management.rows import counted
from subscriptions.newsletters.define import define_subscribable


class Command(FeedletterCommand):
    help = "Defines a newsletter (or a bridge to an account) over one or more feeds."
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("newsletter", metavar="NAME", help="Letters, digits, dots, dashes, underscores.")
        parser.add_argument("--channel", help="email (the usual one) or mastodon.")
        add_fields(parser)

    def run(self, **options: Any) -> Result:
        chosen = fields(options)
        if options["param"]:
            chosen["params"] = pairs(options["param"], "--param")
        made = define_subscribable(name=options["newsletter"], feeds=feeds(options), **chosen)
        return counted(made, now=utcnow())
