"""Confirmations that feedletter never sent: ours are sent instead, once, when an admin asks for it."""

from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from feedletter_site.models import Origin
from subscriptions.rules.origin import How
from subscriptions.rules.origin import Origin as SignUpOrigin
from subscriptions.subscribers.admin_changes import ask_unconfirmed

UNASKED = "unasked"
ASKED = SignUpOrigin(How.LIST, words="Signed up with feedletter, which never asked to confirm it.")


def unsent_confirmations() -> "QuerySet[Origin]":
    return Origin.objects.filter(source="feedletter", kind=UNASKED, finished_at=None)


def send_confirmations(*, now: datetime) -> int:
    """Return how many were queued. Each person gets one, even with two old numbers."""
    sent = 0
    for pk in sorted(set(unsent_confirmations().values_list("row", flat=True))):
        with transaction.atomic():
            waiting = unsent_confirmations().filter(row=pk)
            if waiting.select_for_update(no_key=True):
                sent += ask_unconfirmed(subscription_id=pk, now=now, origin=ASKED)
                waiting.update(finished_at=now)
    return sent
