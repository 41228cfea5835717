from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from ipaddress import ip_address

from django.utils.translation import gettext

from subscriptions.models import Consent, Subscription
from subscriptions.rules.origin import Origin

LONGEST_WORDS = 2000
CONSENTS_AT_ONCE = 1000


def consent(subscription: Subscription, act: Consent.Act, origin: Origin, *, at: datetime) -> Consent:
    """Return an unsaved row, with the IP address only if the newsletter keeps it."""
    ip = None
    if subscription.subscribable.keep_ip:
        with suppress(ValueError):
            ip = str(ip_address(origin.ip))
    return Consent(
        subscription=subscription,
        act=act,
        at=at,
        how=origin.how,
        words=origin.words.replace("\0", "")[:LONGEST_WORDS],
        ip=ip,
    )


def confirming(subscription: Subscription, origin: Origin, *, at: datetime) -> Consent:
    sentence = gettext("%(newsletter)s will be sent to %(address)s.") % {
        "newsletter": subscription.subscribable,
        "address": subscription.destination.label,
    }
    button = gettext("Confirm")
    shown = Origin(origin.how, origin.ip, origin.words or f"{sentence} {button}")
    return consent(subscription, Consent.Act.CONFIRMED, shown, at=at)


def record_consents(rows: Iterable[Consent]) -> None:
    Consent.objects.bulk_create(rows, batch_size=CONSENTS_AT_ONCE)
