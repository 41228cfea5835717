"""`add_webhook NAME --url U --event E`: another program is called when something happens."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.ports.events import EventKind
from delivery.management.webhooks import webhook_row
from delivery.webhooks.manage import add_webhook
from subscriptions.management.options import find_subscribable


class Command(FeedletterCommand):
    help = "Adds a webhook, and prints its secret, which is not to be had later."
    option_names = {"events": "--event", "name": "NAME"}  # noqa: RUF012

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("name", metavar="NAME", help="What it is for, such as shop.")
        parser.add_argument("--url", required=True, help="Where it is called.")
        parser.add_argument(
            "--event",
            action="append",
            required=True,
            choices=list(EventKind),
            dest="events",
            help="May be repeated.",
        )
        parser.add_argument(
            "--newsletter",
            action="append",
            default=[],
            dest="newsletters",
            metavar="NAME",
            help="Only what is about this newsletter; may be repeated. Without it: all.",
        )

    def run(self, **options: Any) -> Result:
        newsletters = [find_subscribable(name) for name in options["newsletters"]]
        facts = {name: options[name] for name in ("name", "url", "events")}
        webhook, secret = add_webhook(**facts, newsletters=newsletters, now=utcnow())
        return {**webhook_row(webhook), "secret": secret}
