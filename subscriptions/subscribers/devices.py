"""Web push.

A browser has one push subscription per site, so one Destination may have several newsletters. Endpoint and
secret, known only to the browser, authenticate it.
"""

import hmac
from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.utils.translation import gettext

from common.ports import channels
from common.ports.channels import InvalidDestination, ParsedDestination
from common.rates import check_rows, count_rows
from common.secrets import opened
from subscriptions.models import Consent, Destination, Subscribable, Subscription, Suppression
from subscriptions.rules.origin import Origin
from subscriptions.subscribers.antispam import sign_up_uses
from subscriptions.subscribers.consent import consent, record_consents
from subscriptions.subscribers.leave import is_received, leave
from subscriptions.subscribers.sign_up import SignUpClosed, is_open, mark_confirmed

WEBPUSH = "webpush"
# No "domain": three push services serve nearly all devices.
COUNTED = ("ip", "address", "newsletter")
CONFIRMED = Subscription.Status.CONFIRMED


def takes_devices(newsletter: Subscribable) -> bool:
    return newsletter.offers_devices and is_open(newsletter)


def count_devices(newsletter: Subscribable) -> int:
    return Subscription.objects.reachable().filter(subscribable=newsletter, destination__kind=WEBPUSH).count()


def tell_device(
    *, newsletter: Subscribable, data: Mapping[str, str], origin: Origin, now: datetime, language: str = ""
) -> Subscription:
    """Subscribe a device, confirmed as its browser has asked. Idempotent.

    Raises InvalidDestination, SignUpClosed and OverLimit.
    """
    if not takes_devices(newsletter):
        raise SignUpClosed(gettext("This newsletter offers no notifications at the moment."))
    parsed = channels.get(WEBPUSH).parse_destination(data)
    facts = {"core": parsed.core, "ip": origin.ip, "claimed": origin.claimed}
    uses = sign_up_uses(**facts, subscribables=[newsletter], scopes=COUNTED)
    checked = check_rows(uses, now)
    with transaction.atomic():
        subscription, is_new = _told(
            newsletter, _destination(parsed, now), origin=origin, now=now, language=language
        )
        if is_new:
            count_rows(checked)
    return subscription


@transaction.atomic
def stop_telling(*, newsletter: Subscribable, data: Mapping[str, str], now: datetime) -> None:
    """Idempotent. Raises InvalidDestination."""
    for subscription in _received(_known(data), newsletter):
        leave(subscription=subscription, now=now, by_reader=True)


def is_told(*, newsletter: Subscribable, data: Mapping[str, str]) -> bool:
    """Raises InvalidDestination."""
    device = _known(data)
    return device is not None and device.disabled_at is None and bool(_received(device, newsletter))


def is_gone(data: Mapping[str, str]) -> bool:
    """Return whether the push service dropped the device. Raises InvalidDestination."""
    device = _known(data)
    return device is not None and device.disabled_at is not None


@transaction.atomic
def renew_device(*, old: Mapping[str, str], data: Mapping[str, str], now: datetime) -> bool:
    """Replace an endpoint. False if the old one is unknown. Raises InvalidDestination."""
    parsed = channels.get(WEBPUSH).parse_destination(data)
    known = _known(old)
    if known is None:
        return False
    there = Destination.objects.filter(kind=WEBPUSH, core=parsed.core).exclude(pk=known.pk)
    if there.exists():
        # The page has already subscribed the new endpoint.
        device = _destination(parsed, now)
        for subscription in known.subscriptions.filter(status=CONFIRMED).select_related("subscribable"):
            _told(subscription.subscribable, device, origin=Origin(), now=now, language=subscription.language)
            leave(subscription=subscription, now=now)
        return True
    known.core = parsed.core
    _save_news(known, parsed)
    return True


def _told(
    newsletter: Subscribable, destination: Destination, *, origin: Origin, now: datetime, language: str
) -> tuple[Subscription, bool]:
    rows = Subscription.objects.select_for_update(no_key=True)
    row, _ = rows.get_or_create(
        subscribable=newsletter, destination=destination, defaults={"added_at": now, "language": language}
    )
    if row.status == CONFIRMED:
        return row, False
    row.subscribable, row.destination = newsletter, destination
    row.language = language or row.language
    mark_confirmed(row, now=now)
    record_consents([consent(row, Consent.Act.CONFIRMED, origin, at=now)])
    return row, True


def _destination(parsed: ParsedDestination, now: datetime) -> Destination:
    """Raises InvalidDestination."""
    if Suppression.objects.filter(kind=WEBPUSH, core=parsed.core).exists():
        raise InvalidDestination(
            gettext("Notifications on this device have been turned off by the people who run this site.")
        )
    row, _ = Destination.objects.get_or_create(kind=WEBPUSH, core=parsed.core, defaults={"added_at": now})
    _save_news(row, parsed)
    return row


def _save_news(row: Destination, parsed: ParsedDestination) -> None:
    row.label, row.disabled_at, row.disabled_reason = parsed.label, None, ""
    row.secrets = parsed.secrets
    row.save()


def _known(data: Mapping[str, str]) -> Destination | None:
    """Return it if the secret matches. Raises InvalidDestination."""
    parsed = channels.get(WEBPUSH).parse_destination(data)
    row = Destination.objects.filter(kind=WEBPUSH, core=parsed.core).first()
    if row is None:
        return None
    try:
        kept = opened(row.secrets)
    except ValueError:  # SECRET_KEY has changed
        return None
    is_its_own = hmac.compare_digest(kept.get("auth", ""), parsed.secrets["auth"])
    return row if is_its_own else None


def _received(device: Destination | None, newsletter: Subscribable) -> list[Subscription]:
    rows = device.subscriptions.filter(subscribable=newsletter) if device else Subscription.objects.none()
    return [row for row in rows.select_related("subscribable", "destination") if is_received(row)]
