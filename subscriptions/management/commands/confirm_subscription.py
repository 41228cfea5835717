"""`confirm_subscription NAME`: confirm on an admin's word."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from subscriptions.management.commands.unsubscribe import find_subscription
from subscriptions.management.options import add_destination, add_newsletter, find_subscribable
from subscriptions.subscribers.admin_changes import confirm_by_hand


class Command(FeedletterCommand):
    help = "Confirms a subscription that waits for its confirmation. Do so only if its owner agreed."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument("--id", type=whole, metavar="ID", help="What “list_subscribers” shows.")
        add_destination(parser)

    def run(self, **options: Any) -> Result:
        found = find_subscription(find_subscribable(options["newsletter"]), options)
        confirmed = confirm_by_hand(subscription=found, now=utcnow())
        return {"id": confirmed.pk, "destination": confirmed.destination.label, "confirmed": True}
