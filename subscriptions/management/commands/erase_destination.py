"""`erase_destination ADDRESS`: erase a person."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.ports import channels
from common.text import pluralize
from subscriptions.models import Destination
from subscriptions.privacy.erase import erase, is_suppressed


class Command(FeedletterCommand):
    help = (
        "Erases all that is held about an address or a number: subscriptions, consents, and what is known of "
        "its mails. It cannot be undone. It stays on the list “Do not write”, if it is there."
    )

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument(
            "address", metavar="ADDRESS", help="An address or a number, such as +49 1512 3456789."
        )

    def run(self, **options: Any) -> Result:
        kind, parsed = channels.parse_person(options["address"])
        destination = Destination.objects.filter(kind=kind, core=parsed.core).first()
        if destination is None:
            raise CommandError(f"Nothing is held about {parsed.label}: it is not known here.")
        suppressed = is_suppressed(destination)
        erased = erase(destination=destination, now=utcnow())
        said = (
            f"All that was held about {parsed.label} is erased: "
            f"{pluralize(erased['subscriptions'], 'subscription')}, {pluralize(erased['mails'], 'mail')}."
        )
        if suppressed:
            said += " It stays on the list “Do not write”."
        return Printed(said, {"address": parsed.label, "suppressed": suppressed, "erased": erased})
