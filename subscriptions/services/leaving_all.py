"""Leaving every newsletter of an address at once."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from subscriptions.models import Destination, Subscription
from subscriptions.services.leaving import leave


def not_left(destination: Destination) -> "QuerySet[Subscription]":
    """What an address receives or has yet to confirm, and what a switch has ended a moment ago."""
    return destination.subscriptions.exclude(status=Subscription.Status.UNSUBSCRIBED).order_by("pk")


def is_received(subscription: Subscription) -> bool:
    """Whether it is received, or has yet to be confirmed."""
    return subscription.status != Subscription.Status.UNSUBSCRIBED and subscription.ended_at is None


@transaction.atomic
def leave_all(*, destination: Destination, now: datetime) -> int:
    """Ends all of them, as if the reader had left each. Returns how many; a second time, none."""
    rows = list(not_left(destination))
    for subscription in rows:
        leave(subscription=subscription, now=now, by_reader=True)
    return len(rows)
