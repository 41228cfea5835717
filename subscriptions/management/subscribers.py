import csv
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError

from common.cli.commands import OUTPUT, FeedletterCommand, Printed, Result, argument, whole
from common.clock import utcnow
from common.db.lookups import disable_sqlite_mmap
from common.ports import channels
from subscriptions.lists.export import EXPORT_FORMATS, export_subscribers
from subscriptions.management.options import add_destination, add_newsletter, destination, find_subscribable
from subscriptions.models import Subscribable, Subscription
from subscriptions.rules.lists.statuses import LIST_STATUSES
from subscriptions.subscribers.admin_changes import confirm_by_hand, subscribe
from subscriptions.subscribers.leave import leave

OF_A_SUBSCRIBER = (
    add_newsletter,
    argument("--id", type=whole, metavar="ID", help="The number that “list_subscribers” shows."),
    add_destination,
)


class Subscribe(FeedletterCommand):
    help = "Adds a subscriber: an address, or the account a bridge posts to."
    arguments = (
        add_newsletter,
        add_destination,
        argument("--unconfirmed", action="store_true", help="Email a link to confirm first."),
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


class ConfirmSubscription(FeedletterCommand):
    help = "Confirms an unconfirmed subscription. Only do this if the person agreed."
    arguments = OF_A_SUBSCRIBER

    def run(self, **options: Any) -> Result:
        found = find_subscription(find_subscribable(options["newsletter"]), options)
        confirmed = confirm_by_hand(subscription=found, now=utcnow())
        return {"id": confirmed.pk, "destination": confirmed.destination.label, "confirmed": True}


class Unsubscribe(FeedletterCommand):
    help = "Ends a subscription, named by its address or account, or by its number."
    arguments = OF_A_SUBSCRIBER

    def run(self, **options: Any) -> Result:
        subscription = find_subscription(find_subscribable(options["newsletter"]), options)
        leave(subscription=subscription, now=utcnow())
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
        hint = f"“list_subscribers {subscribable.name}” lists them."
        raise CommandError(f"{subscribable} has no subscriber {named}. {hint}")
    subscription: Subscription = found
    return subscription


class ExportSubscribers(FeedletterCommand):
    help = "Writes the subscribers of a newsletter as CSV, with all that import_subscribers takes."
    arguments = (
        add_newsletter,
        argument(
            "--status",
            choices=LIST_STATUSES,
            action="append",
            default=[],
            help="Only these; may be given several times. “confirmed” means people who get it.",
        ),
        argument(
            "--for",
            choices=EXPORT_FORMATS,
            default="",
            help="Columns that this program reads. Without --status, only people who get it.",
        ),
        OUTPUT,
    )

    def run(self, **options: Any) -> Result:
        subscribable = find_subscribable(options["newsletter"])
        disable_sqlite_mmap()
        rows = export_subscribers(
            subscribable=subscribable,
            exact=options["json"],
            statuses=options["status"],
            program=options["for"],
        )
        if options["json"]:
            header = next(rows)
            return (dict(zip(header, row, strict=True)) for row in rows)
        # Excel takes other files for Windows-1252.
        self.write_out(lambda file: csv.writer(file).writerows(rows), options["output"], "utf-8-sig")
        return None
