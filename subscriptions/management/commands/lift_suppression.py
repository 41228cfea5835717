"""`lift_suppression ADDRESS`: allow mail to an address again."""

from contextlib import suppress
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.ports import channels
from common.ports.channels import InvalidDestination
from subscriptions.models import Suppression
from subscriptions.subscribers.suppression import lift


class Command(FeedletterCommand):
    help = "Takes an address off the list “Do not write”: letters go there again."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("address", metavar="ADDRESS", help="What “list_suppressions” shows.")

    def run(self, **options: Any) -> Result:
        given = options["address"]
        cores = {given}
        for kind in channels.person_kinds():
            with suppress(InvalidDestination):
                cores.add(channels.parse_typed(kind, given).core)
        if not lift(suppressions=Suppression.objects.filter(core__in=cores)):
            raise CommandError(f"{given} is not on the list “Do not write”. “list_suppressions” shows it.")
        return Printed(f"{given} may be written to again.", {"address": given, "suppressed": False})
