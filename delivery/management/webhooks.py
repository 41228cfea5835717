"""What commands say about a webhook: never its secret."""

from typing import Any

from common.cli.arguments import find
from delivery.models import Webhook


def webhook_row(webhook: Webhook) -> dict[str, Any]:
    return {
        "id": webhook.pk,
        "name": webhook.name,
        "url": webhook.url,
        "events": webhook.events,
        "newsletters": [newsletter.name for newsletter in webhook.newsletters.all()],
        "active": webhook.active,
        "failing_since": webhook.failing_since,
        "disabled_reason": webhook.disabled_reason,
    }


def find_webhook(pk: int) -> Webhook:
    found: Webhook = find(Webhook.objects.all(), "webhook", "“list_webhooks” shows those there are.", pk=pk)
    return found
