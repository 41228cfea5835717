"""`drop_webhook ID`: it is called no more."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import whole
from common.cli.commands import FeedletterCommand, Printed, Result
from delivery.management.webhooks import find_webhook
from delivery.webhooks.manage import drop_webhooks


class Command(FeedletterCommand):
    help = "Deletes a webhook, with the calls that still wait and the log of what was sent."

    def add_options(self, parser: CommandParser) -> None:
        parser.add_argument("id", type=whole, metavar="ID", help="What “list_webhooks” shows.")

    def run(self, **options: Any) -> Result:
        webhook = find_webhook(options["id"])
        drop_webhooks([webhook.pk])
        return Printed(f"{webhook} is called no more.", {"id": options["id"], "name": webhook.name})
