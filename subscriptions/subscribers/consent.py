"""Keeps the proof that somebody agreed."""

from collections.abc import Iterable
from datetime import datetime
from ipaddress import ip_address

from django.utils.translation import gettext

from subscriptions.models import Consent, Subscription
from subscriptions.rules.origin import Origin

LONGEST_WORDS = 2000
BATCH = 1000


def consent(subscription: Subscription, act: Consent.Act, origin: Origin, *, at: datetime) -> Consent:
    """The row, not saved yet. With the reader's address only where the newsletter keeps it."""
    return Consent(
        subscription=subscription,
        act=act,
        at=at,
        how=origin.how,
        words=origin.words.replace("\0", "")[:LONGEST_WORDS],
        ip=_address(origin.ip) if subscription.subscribable.keep_ip else None,
    )


def confirming(subscription: Subscription, origin: Origin, *, at: datetime) -> Consent:
    """What the reader agrees to on the page that a confirmation opens."""
    said = gettext("%(newsletter)s will come to %(address)s.") % {
        "newsletter": subscription.subscribable,
        "address": subscription.destination.label,
    }
    button = gettext("Confirm")
    shown = Origin(origin.how, origin.ip, origin.words or f"{said} {button}")
    return consent(subscription, Consent.Act.CONFIRMED, shown, at=at)


def _address(ip: str) -> str | None:
    try:
        return str(ip_address(ip))
    except ValueError:
        return None


def record_consents(rows: Iterable[Consent]) -> None:
    """Saves them, many in one statement; within the caller's transaction if there is one."""
    Consent.objects.bulk_create(rows, batch_size=BATCH)
