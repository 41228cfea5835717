"""`post_test NAME`: posts a bridge's newest post at once; --delete takes test posts back."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from channels.letter import LetterError
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.ports import channels
from common.refused import Refused
from delivery.bridges.connect import connections_of
from delivery.bridges.trial_posts import delete_test, post_row, post_test, standing_tests
from subscriptions.management.options import find_subscribable
from subscriptions.models import Subscription


class Command(FeedletterCommand):
    help = "Posts the newest post of a bridge now, wherever it posts, and says where it stands."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("newsletter", metavar="NAME", help="The bridge; “list_subscribables” shows them.")
        parser.add_argument("--to", metavar="LABEL", help="Only there; “list_subscribers NAME” shows where.")
        parser.add_argument(
            "--delete", action="store_true", help="Take the test posts back that stand there."
        )

    def run(self, **options: Any) -> Result:
        bridge = find_subscribable(options["newsletter"])
        if channels.get(bridge.channel).public_sign_up:
            raise CommandError(f"{bridge} is no bridge. “send_test_email” tries the mail.")
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
    """What was taken back."""
    rows = []
    for test in standing_tests(subscription):
        delete_test(delivery=test, now=utcnow())
        rows.append({**post_row(test), "url": "", "deleted": True})
    return rows
