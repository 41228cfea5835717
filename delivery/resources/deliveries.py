"""Deliveries and bounces: what can be done with them, by commands, the API and the admin."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from common.cli.tables import fields_of
from common.ports.panels import CannotAct
from common.resources import ADMIN, API, Resource, verb
from delivery.bounces.record import release_bounces
from delivery.issues import progress
from delivery.issues.pause import RETRYABLE, cancel_delivery, retry_delivery
from delivery.models import Bounce, Delivery


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


class Bounces(Resource[Bounce]):
    noun = "bounce"

    def rows(self) -> "QuerySet[Bounce]":
        return Bounce.objects.select_related("destination")

    @verb("Stop sending to held addresses", on=(ADMIN,), fits=lambda bounce: bounce.held)
    def suppress_held(self, bounce: Bounce, *, now: datetime) -> str:
        self.release(bounce, suppressing=True, now=now)
        return "The address won’t be emailed any more."

    @verb("Keep sending to held addresses", on=(ADMIN,), fits=lambda bounce: bounce.held)
    def let_be(self, bounce: Bounce, *, now: datetime) -> str:
        self.release(bounce, suppressing=False, now=now)
        return "Ignored. We keep sending there."

    def release(self, bounce: Bounce, *, suppressing: bool, now: datetime) -> None:
        if not release_bounces(bounces=[bounce], suppressing=suppressing, now=now):
            raise CannotAct("This bounce isn’t held, so there’s nothing to decide.")


bounces = Bounces()
