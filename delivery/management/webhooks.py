from typing import Any

from common.cli.arguments import argument
from common.cli.commands import FeedletterCommand, Result
from common.clock import utcnow
from common.ports.events import EventKind
from delivery.resources.webhooks import webhooks
from delivery.webhooks.outbox import add_webhook
from subscriptions.management.options import find_subscribable


class ListWebhooks(FeedletterCommand):
    help = "Lists the webhooks: other programs that are called when something happens."
    empty = "There are no webhooks. Add one: add_webhook NAME --url https://… --event issue.published"

    def run(self, **options: Any) -> Result:
        return [webhooks.shown(row) for row in webhooks.rows().order_by("pk")]


class AddWebhook(FeedletterCommand):
    help = "Adds a webhook, and prints its secret, which is not to be had later."
    option_names = {"events": "--event", "name": "NAME"}  # noqa: RUF012
    arguments = (
        argument("name", metavar="NAME", help="Its purpose, such as shop."),
        argument("--url", required=True, help="Where it is called."),
        argument(
            "--event",
            action="append",
            required=True,
            choices=list(EventKind),
            dest="events",
            help="May be repeated.",
        ),
        argument(
            "--newsletter",
            action="append",
            default=[],
            dest="newsletters",
            metavar="NAME",
            help="Only events of this newsletter; may be repeated. Default: all.",
        ),
    )

    def run(self, **options: Any) -> Result:
        newsletters = [find_subscribable(name) for name in options["newsletters"]]
        facts = {name: options[name] for name in ("name", "url", "events")}
        webhook, secret = add_webhook(**facts, newsletters=newsletters, now=utcnow())
        return {**webhooks.shown(webhook), "secret": secret}
