"""Deliveries: what can be done with them, by commands, the API and the admin."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from common.cli.tables import fields_of
from common.resources import API, Resource, verb
from delivery.issues import progress
from delivery.issues.pause import RETRYABLE, cancel_delivery, retry_delivery
from delivery.models import Delivery


def delivery_row(delivery: Delivery) -> dict[str, Any]:
    """Needs the destination selected."""
    return {
        "id": delivery.pk,
        "issue": delivery.issue_id,
        "destination": delivery.destination.label,
        **fields_of(delivery, "state attempts due_at sent_at remote_id last_error"),
    }


class Deliveries(Resource[Delivery]):
    noun = "delivery"
    plural = "deliveries"

    def rows(self) -> "QuerySet[Delivery]":
        return Delivery.objects.select_related("destination").defer("context")

    def shown(self, row: Delivery) -> Mapping[str, Any]:
        return delivery_row(row)

    def changed(self, row: Delivery) -> None:
        if row.issue_id is not None:
            progress.forget(row.issue_id)

    @verb("Try again now", fits=lambda delivery: delivery.state in RETRYABLE, most=1000)
    def retry(self, delivery: Delivery, *, now: datetime) -> str:
        """Retry a delivery. It must have failed, be held, cancelled or waiting, and may be sent."""
        retry_delivery(delivery=delivery, now=now)
        return "Queued again."

    @verb("Cancel", on=(API,))
    def cancel(self, delivery: Delivery) -> str:
        """Cancel a delivery. It isn’t sent unless it is retried. 409 if it is being sent, or has ended."""
        cancel_delivery(delivery=delivery)
        return "Cancelled."


deliveries = Deliveries()
