"""`check_destination`: asks a service whether it takes a destination; nothing is kept or posted."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.ports import channels
from common.ports.channels import InvalidDestination
from delivery.bridges.connect import check_again
from subscriptions.management.options import add_bridge_destination, bridge_destination, find_subscribable
from subscriptions.models import Destination


class Command(FeedletterCommand):
    help = (
        "Asks the services whether the destinations of a bridge are good, or one that is not kept yet:"
        " --channel and its fields."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("newsletter", metavar="NAME", nargs="?", help="A bridge: all that it posts to.")
        parser.add_argument("--channel", help=f"One of {', '.join(names())}.")
        add_bridge_destination(parser)

    def run(self, **options: Any) -> Result:
        if bool(options["newsletter"]) == bool(options["channel"]):
            raise CommandError("Give either the NAME of a bridge, or --channel with its fields.")
        if options["channel"]:
            kind = channels.get(options["channel"])
            parsed = kind.check(kind.parse_destination(bridge_destination(options, kind)))
            return {"channel": kind.key, "destination": parsed.label, "good": True}
        bridge = find_subscribable(options["newsletter"])
        rows = Destination.objects.filter(subscriptions__subscribable=bridge, subscriptions__ended_at=None)
        kept = rows.order_by("pk").distinct()
        if channels.get(bridge.channel).public_sign_up:
            raise CommandError(f"{bridge} is no bridge: the mail that asks readers is the check.")
        return [checked(row) for row in kept]


def names() -> list[str]:
    return [kind.key for kind in channels.bridge_kinds()]


def checked(destination: Destination) -> dict[str, Any]:
    """The service's answer for what is stored."""
    row = {"channel": destination.kind, "destination": destination.label, "good": True, "why": ""}
    try:
        return {**row, "destination": check_again(destination)}
    except InvalidDestination as error:
        return {**row, "good": False, "why": str(error)}
