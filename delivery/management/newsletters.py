from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError

from channels.letter import LetterError
from common.cli.commands import FeedletterCommand, Printed, Result, argument
from common.clock import utcnow
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.refused import Refused
from delivery.bridges.connect import check_again, connections_of
from delivery.bridges.trial_posts import delete_test, post_row, post_test, standing_tests
from delivery.engine.send_pass import send_due
from delivery.letters.trial import send_test_email
from delivery.models import Delivery
from delivery.resources.deliveries import deliveries, delivery_row
from subscriptions.management.options import add_bridge_destination, bridge_destination, find_subscribable
from subscriptions.models import Destination, Subscription

PATIENCE = timedelta(seconds=30)
ARRIVED_WORDS = {
    Delivery.State.SENT: "The mail server accepted the test email to {}.",
    Delivery.State.STORED: (
        "The test email to {} was kept in the mailbox: use Email set-up in the admin, or set EMAIL_URL."
    ),
}


def channel_row(kind: channels.ChannelSpec) -> dict[str, Any]:
    return {
        "channel": kind.key,
        "name": kind.label,
        "sign_up": kind.public_sign_up,
        "destination": [field.name for field in kind.destination_fields],
        "options": [field.name for field in kind.option_fields],
        "arrangements": sorted(kind.arrangements),
        "what": kind.sentence,
    }


class ListChannels(FeedletterCommand):
    help = "Lists the channels, with the fields of a destination and the options that each knows."

    def run(self, **options: Any) -> Result:
        return (channel_row(kind) for kind in channels.all_kinds())


class CheckDestination(FeedletterCommand):
    help = (
        "Asks the services whether the destinations of a bridge are good, or one that is not kept yet:"
        " --channel and its fields."
    )
    arguments = (
        argument("newsletter", metavar="NAME", nargs="?", help="A bridge: all that it posts to."),
        argument("--channel", help=f"One of {', '.join(kind.key for kind in channels.bridge_kinds())}."),
        add_bridge_destination,
    )

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
            raise CommandError(f"{bridge} is no bridge: its subscribers confirm by email.")
        return [checked(row) for row in kept]


def checked(destination: Destination) -> dict[str, Any]:
    """The service's answer for what is stored."""
    row = {"channel": destination.kind, "destination": destination.label, "good": True, "why": ""}
    try:
        return {**row, "destination": check_again(destination)}
    except InvalidDestination as error:
        return {**row, "good": False, "why": str(error)}


class PostTest(FeedletterCommand):
    help = "Posts the newest post of a bridge now to all its connections, and prints the links."
    arguments = (
        argument("newsletter", metavar="NAME", help="The bridge; “list_subscribables” shows them."),
        argument("--to", metavar="LABEL", help="Only there; “list_subscribers NAME” shows where."),
        argument("--delete", action="store_true", help="Delete the test posts that are there."),
    )

    def run(self, **options: Any) -> Result:
        bridge = find_subscribable(options["newsletter"])
        if channels.get(bridge.channel).public_sign_up:
            raise CommandError(f"{bridge} is no bridge. “send_test_email” tests email.")
        wanted = options["to"]
        found = [row for row in connections_of(bridge) if wanted in (None, row.destination.label)]
        if not found:
            raise CommandError(f"{bridge} does not post there. “list_subscribers” shows where it does.")
        act = deleted if options["delete"] else posted
        with self.progress("asking"):
            return [row for each in found for row in act(each)]


def posted(subscription: Subscription) -> list[dict[str, Any]]:
    try:
        return [post_row(post_test(subscription=subscription, now=utcnow()))]
    except (LetterError, Refused) as error:
        raise CommandError(f"Not posted to {subscription.destination}: {error}") from error


def deleted(subscription: Subscription) -> list[dict[str, Any]]:
    rows = []
    for test in standing_tests(subscription):
        delete_test(delivery=test, now=utcnow())
        rows.append({**post_row(test), "url": "", "deleted": True})
    return rows


class SendTestEmail(FeedletterCommand):
    help = "Sends a short test email and prints the mail server's answer."
    arguments = (
        argument("--to", required=True, metavar="ADDRESS", help="Such as ada@example.org"),
        argument("--account", default="", metavar="NAME", help="A mail account; by default the default one."),
    )

    def run(self, **options: Any) -> Result:
        queued = send_test_email(to=options["to"], account=options["account"], now=utcnow())
        with self.progress("sending"):
            send_due(budget=PATIENCE)
        delivery = deliveries.find(queued.pk)
        if delivery.state not in ARRIVED_WORDS:
            reason = delivery.last_error or f"it is {delivery.state}"
            account = options["account"] or "the default mail account (Email set-up, or EMAIL_URL)"
            raise CommandError(
                f"The test email to {delivery.destination} was not sent: {reason.rstrip('.')}. "
                f"Check {account}; “show_delivery {delivery.pk}” shows what follows."
            )
        return Printed(
            ARRIVED_WORDS[Delivery.State(delivery.state)].format(delivery.destination), delivery_row(delivery)
        )
