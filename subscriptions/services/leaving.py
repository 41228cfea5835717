"""Leaving a newsletter."""

from datetime import datetime

from django.db import transaction

from subscriptions.models import Notice, Subscription


@transaction.atomic
def leave(*, subscription: Subscription, now: datetime) -> None:
    """Ends the subscription, and with it any confirmation link under way. A second time changes nothing."""
    left = Subscription.Status.UNSUBSCRIBED
    waiting = Subscription.objects.filter(pk=subscription.pk).exclude(status=left)
    if waiting.update(status=left, left_at=now, confirm_nonce="", asked_name=""):
        Notice.objects.filter(subscription=subscription).delete()
    subscription.refresh_from_db(fields=["status", "left_at", "confirm_nonce", "asked_name"])
