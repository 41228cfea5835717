"""Process BOUNCE_URL's mailbox: unsubscribe requests and bounces."""

import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from common.clock import utcnow
from common.passes import TimeBudget
from common.shutdown import stopping
from common.signing import TokenError
from delivery.bounces.account import parse_bounce_url
from delivery.bounces.record import Taken, prune_bounces, take_report
from delivery.bounces.sources import SourceError, open_mailbox
from delivery.bounces.unsubscribe_mail import leaving
from subscriptions.links import UNSUBSCRIBE, find
from subscriptions.models import Subscription
from subscriptions.subscribers.leave import leave

LEAVING = "leaving"

log = logging.getLogger(__name__)


def take_mail(*, raw: bytes, now: datetime, recipient: str = "") -> Taken:
    """Process a mail to BOUNCE_DOMAIN; `recipient` is the envelope's. Safe to repeat, sends no reply."""
    wish = leaving(raw, domain=settings.BOUNCE_DOMAIN, recipient=recipient)
    if wish is None:
        return take_report(raw=raw, now=now, recipient=recipient)
    try:
        subscription = find(wish.token, UNSUBSCRIBE)
    except TokenError:
        return Taken(LEAVING, "Ignored: it names no subscription.")
    known = subscription.status == Subscription.Status.UNSUBSCRIBED
    leave(subscription=subscription, now=now, by_reader=True)
    said = "Had left already" if known else "Left"
    return Taken(LEAVING, f"{said}: {subscription.subscribable}.", is_new=not known)


def read_bounces(
    *, clock: Callable[[], datetime] = utcnow, budget: timedelta | None = None
) -> "Counter[str]":
    """Delete old reports, then process mail. Logs errors."""
    prune_bounces(now=clock())
    try:
        return collect_bounces(clock=clock, budget=budget)
    except (SourceError, ImproperlyConfigured) as error:
        log.warning("%s", error)
        return Counter()


def collect_bounces(*, clock: Callable[[], datetime], budget: timedelta | None = None) -> "Counter[str]":
    """Return counts by kind, and "failed". Raises SourceError, ImproperlyConfigured.

    A mail that fails stays in the mailbox and stops no other.
    """
    where = parse_bounce_url(settings.BOUNCE_URL)
    counts: Counter[str] = Counter()
    if where is None:
        return counts
    left = TimeBudget(budget)
    with open_mailbox(where) as source:
        for mail in source.mails():
            if stopping.is_set() or left.is_spent:
                break
            try:
                kind = take_mail(raw=mail.raw, now=clock()).kind
            except (InterfaceError, OperationalError):
                raise
            except Exception:
                log.exception("a bounce could not be taken", extra={"mail": mail.key})
                counts["failed"] += 1
                continue
            source.done(mail)
            counts[kind] += 1
    return counts
