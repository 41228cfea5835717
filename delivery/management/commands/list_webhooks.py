"""`list_webhooks`: whom we call when something happens."""

from typing import Any

from common.cli.commands import FeedletterCommand, Result
from delivery.management.webhooks import webhook_row
from delivery.models import Webhook


class Command(FeedletterCommand):
    help = "Lists the webhooks: other programs that are called when something happens."
    empty = "There are no webhooks. Add one: add_webhook NAME --url https://… --event issue.published"

    def run(self, **options: Any) -> Result:
        return [webhook_row(row) for row in Webhook.objects.prefetch_related("newsletters").order_by("pk")]
