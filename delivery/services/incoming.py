"""Mail that comes in: from somebody who leaves, or about a letter that did not arrive."""

from datetime import datetime

from django.conf import settings

from common.signing import TokenError
from delivery.bounces.leaving import Leaving, leaving
from delivery.services.bouncing import Taken, take_report
from subscriptions.links import UNSUBSCRIBE, find
from subscriptions.models import Subscription
from subscriptions.services.leaving import leave

LEAVING = "leaving"


def take_mail(*, raw: bytes, now: datetime, recipient: str = "") -> Taken:
    """Takes one mail that was sent to BOUNCE_DOMAIN. `recipient` is whom the envelope named, where known.

    Safe to repeat. Nobody is answered.
    """
    wish = leaving(raw, domain=settings.BOUNCE_DOMAIN, recipient=recipient)
    return take_report(raw=raw, now=now, recipient=recipient) if wish is None else _taken(wish, now)


def _taken(wish: Leaving, now: datetime) -> Taken:
    try:
        subscription = find(wish.token, UNSUBSCRIBE)
    except TokenError:
        return Taken(LEAVING, "Ignored: it names no subscription.")
    known = subscription.status == Subscription.Status.UNSUBSCRIBED
    leave(subscription=subscription, now=now, by_reader=True)
    said = "Had left already" if known else "Left"
    return Taken(LEAVING, f"{said}: {subscription.subscribable}.", is_new=not known)
