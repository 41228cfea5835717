"""`unsubscribe NAME`: end a subscription."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.clock import utcnow
from common.ports import channels
from subscriptions.management.options import add_destination, add_newsletter, destination, find_subscribable
from subscriptions.models import Subscribable, Subscription
from subscriptions.subscribers.admin_changes import unsubscribe


class Command(FeedletterCommand):
    help = "Ends a subscription, named by its address or account, or by its number."

    def add_options(self, parser: CommandParser) -> None:
        add_newsletter(parser)
        parser.add_argument(
            "--id", type=whole, metavar="ID", help="The number that “list_subscribers” shows."
        )
        add_destination(parser)

    def run(self, **options: Any) -> Result:
        subscription = find_subscription(find_subscribable(options["newsletter"]), options)
        unsubscribe(subscription=subscription, now=utcnow())
        label = subscription.destination.label
        said = f"{label} no longer gets {subscription.subscribable}."
        return Printed(said, {"id": subscription.pk, "destination": label, "confirmed": False})


def find_subscription(subscribable: Subscribable, options: Mapping[str, Any]) -> Subscription:
    """Raises CommandError and InvalidDestination."""
    rows = Subscription.objects.select_related("subscribable", "destination").filter(
        subscribable=subscribable
    )
    if options["id"] is not None:
        found, named = rows.filter(pk=options["id"]).first(), f"number {options['id']}"
    else:
        kind = channels.get(subscribable.channel)
        # Secrets do not identify an account.
        secrets = {field.name: "none" for field in kind.destination_fields if field.secret}
        given = {name: value for name, value in options.items() if value is not None}
        parsed = kind.parse_destination(destination({**secrets, **given}, kind))
        found, named = rows.filter(destination__core=parsed.core).first(), parsed.label
        # Some accounts have only a service's id, which nobody types.
        if found is None and not kind.public_sign_up:
            found = rows.filter(destination__label=named).first()
    if found is None:
        hint = f"“list_subscribers {subscribable.name}” shows those there are."
        raise CommandError(f"{subscribable} has no subscriber {named}. {hint}")
    subscription: Subscription = found
    return subscription
