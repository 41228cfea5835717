"""`alter_subscribable NAME`: change a newsletter, except open collections."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import pairs
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from subscriptions.management.options import (
    OPTION_NAMES,
    add_fields,
    add_newsletter,
    feeds,
    fields,
    find_subscribable,
)
from subscriptions.management.rows import counted
from subscriptions.newsletters.define import alter_subscribable


class Command(FeedletterCommand):
    help = "Changes a newsletter or bridge. Letters being collected still go out at their time."
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        add_fields(parser)
        running = parser.add_mutually_exclusive_group()
        running.add_argument("--stop", action="store_true", help="Take no new posts.")
        running.add_argument("--resume", action="store_true", help="Take new posts again.")

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        changes = fields(options)
        if options["param"]:
            changes["params"] = {**subscribable.params, **pairs(options["param"], "--param")}
        if options["stop"] or options["resume"]:
            changes["stopped"] = options["stop"]
        chosen = feeds(options) if options["feed"] else None
        if not changes and chosen is None:
            raise CommandError("There is nothing to change: give at least one option, such as --title.")
        altered = alter_subscribable(subscribable=subscribable, feeds=chosen, **changes)
        return counted(altered, now=utcnow())
