"""What commands say about a delivery: the names of docs and programs."""

from typing import Any

from django.core.management.base import CommandParser

from common.cli.arguments import find, whole
from delivery.models import Delivery


def delivery_row(delivery: Delivery) -> dict[str, Any]:
    """Needs the destination selected."""
    return {
        "id": delivery.pk,
        "issue": delivery.issue_id,
        "destination": delivery.destination.label,
        "state": delivery.state,
        "attempts": delivery.attempts,
        "due_at": delivery.due_at,
        "sent_at": delivery.sent_at,
        "remote_id": delivery.remote_id,
        "last_error": delivery.last_error,
    }


def add_delivery(parser: CommandParser) -> None:
    parser.add_argument("id", type=whole, metavar="ID", help="The number that “list_deliveries” shows.")


def find_delivery(pk: int) -> Delivery:
    rows = Delivery.objects.select_related("destination", "issue__subscribable")
    found: Delivery = find(rows, "delivery", "“list_deliveries” shows those there are.", pk=pk)
    return found
