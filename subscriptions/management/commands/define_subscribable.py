"""`define_subscribable NAME`: create a newsletter or bridge."""

from typing import Any

from django.core.management.base import CommandParser
from django.db import transaction

from common.cli.arguments import pairs
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.ports import channels
from subscriptions.management.options import (
    OPTION_NAMES,
    add_bridge_destination,
    add_fields,
    bridge_destination,
    feeds,
    fields,
)
from subscriptions.management.rows import counted
from subscriptions.newsletters.define import define_subscribable
from subscriptions.subscribers.admin_changes import subscribe_checked


class Command(FeedletterCommand):
    help = (
        "Defines a newsletter, or a bridge to an account, over one or more feeds. With the fields of a"
        " destination a bridge posts there from now on."
    )
    option_names = OPTION_NAMES

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("newsletter", metavar="NAME", help="Letters, digits, dots, dashes, underscores.")
        others = ", ".join(kind.key for kind in channels.bridge_kinds())
        parser.add_argument("--channel", help=f"email (the usual one), or for a bridge one of {others}.")
        add_fields(parser)
        add_bridge_destination(parser)

    def run(self, **options: Any) -> Result:
        chosen = fields(options)
        if options["param"]:
            chosen["params"] = pairs(options["param"], "--param")
        parsed = self.parsed(options)
        with transaction.atomic():
            made = define_subscribable(name=options["newsletter"], feeds=feeds(options), **chosen)
            if parsed is not None:
                subscribe_checked(subscribable=made, parsed=parsed, now=utcnow())
        return counted(made, now=utcnow())

    def parsed(self, options: dict[str, Any]) -> channels.ParsedDestination | None:
        """Return a bridge's destination, checked by the service before any write."""
        known = {kind.key: kind for kind in channels.newsletter_kinds()}
        # An unknown channel is refused later, with the other fields.
        kind = known.get(options["channel"] or "email", known["email"])
        data = bridge_destination(options, kind)
        return kind.check(kind.parse_destination(data)) if data else None
