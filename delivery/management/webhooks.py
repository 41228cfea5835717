from typing import Any

from common.cli.arguments import argument, find, whole
from common.cli.commands import FeedletterCommand, Printed, Result
from common.cli.tables import fields_of
from common.clock import utcnow
from common.ports.events import EventKind
from delivery.models import Webhook
from delivery.webhooks.outbox import add_webhook, drop_webhooks
from subscriptions.management.options import find_subscribable


def webhook_row(webhook: Webhook) -> dict[str, Any]:
    return {
        **fields_of(webhook, "id name url events"),
        "newsletters": [newsletter.name for newsletter in webhook.newsletters.all()],
        "active": webhook.active,
        "failing_since": webhook.failing_since,
        "disabled_reason": webhook.disabled_reason,
    }


def find_webhook(pk: int) -> Webhook:
    found: Webhook = find(Webhook.objects.all(), "webhook", "“list_webhooks” lists them.", pk=pk)
    return found


class ListWebhooks(FeedletterCommand):
    help = "Lists the webhooks: other programs that are called when something happens."
    empty = "There are no webhooks. Add one: add_webhook NAME --url https://… --event issue.published"

    def run(self, **options: Any) -> Result:
        return [webhook_row(row) for row in Webhook.objects.prefetch_related("newsletters").order_by("pk")]


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
        return {**webhook_row(webhook), "secret": secret}


class DropWebhook(FeedletterCommand):
    help = "Deletes a webhook with its waiting calls and its log."
    arguments = (argument("id", type=whole, metavar="ID", help="The number that “list_webhooks” shows."),)

    def run(self, **options: Any) -> Result:
        webhook = find_webhook(options["id"])
        drop_webhooks([webhook.pk])
        return Printed(f"{webhook} is called no more.", {"id": options["id"], "name": webhook.name})
