"""The event of changed subscriptions."""

from common.clock import utcnow
from common.ports.events import Event, EventKind, emit
from subscriptions.models import Subscription
from subscriptions.models.subscription import SubscriptionQuerySet


def tell_changed(rows: SubscriptionQuerySet) -> None:
    """Tell of subscriptions whose details or tags changed, in the caller's transaction."""
    current = rows.exclude(status=Subscription.Status.UNSUBSCRIBED).filter(ended_at=None).order_by("pk")
    emit(Event(EventKind.UPDATED, tuple(current.values_list("pk", flat=True)), utcnow()))
