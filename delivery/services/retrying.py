"""Trying again by hand, and letting held deliveries go."""

from datetime import datetime

from django.db import transaction

from delivery.models import Delivery, MailboxMessage

RETRYABLE = ("failed", "held", "deferred", "cancelled", "stored")


class NotRetryable(ValueError):
    """It is on its way or has arrived. The message says which."""


@transaction.atomic
def retry_delivery(*, delivery: Delivery, now: datetime) -> None:
    """Queues the delivery again, due now. Raises NotRetryable for one that is queued, sending or sent."""
    changed = Delivery.objects.filter(pk=delivery.pk, state__in=RETRYABLE).update(
        state=Delivery.State.QUEUED, due_at=now, created_at=now, attempts=0, sent_at=None
    )
    if not changed:
        state = Delivery.objects.values_list("state", flat=True).get(pk=delivery.pk)
        raise NotRetryable(f"Delivery {delivery.pk} is {state}: there is nothing to try again.")
    # What was kept in the mailbox is kept anew if there still is no mail server.
    MailboxMessage.objects.filter(delivery=delivery).delete()
