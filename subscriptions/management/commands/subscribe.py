"""`subscribe NAME`: add a subscriber on an admin's word."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.ports import channels
from subscriptions.management.options import add_destination, add_newsletter, destination, find_subscribable
from subscriptions.models import Subscription
from subscriptions.subscribers.admin_changes import subscribe


class Command(FeedletterCommand):
    help = "Adds a subscriber: an address, or the account a bridge posts to."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        add_destination(parser)
        parser.add_argument(
            "--unconfirmed",
            action="store_true",
            help="Ask the address first: it gets the confirmation by mail.",
        )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        subscription = subscribe(
            subscribable=subscribable,
            data=destination(options, channels.get(subscribable.channel)),
            now=utcnow(),
            confirmed=not options["unconfirmed"],
        )
        return {
            "id": subscription.pk,
            "destination": subscription.destination.label,
            "confirmed": subscription.status == Subscription.Status.CONFIRMED,
        }
