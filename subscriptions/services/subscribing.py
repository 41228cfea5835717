"""The admin's acts: adding and removing a subscriber of any channel."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction

from common import kinds
from common.events import Event, Kind, emit
from common.kinds import InvalidDestination, ParsedDestination
from subscriptions.models import Consent, Destination, Subscribable, Subscription, Suppression
from subscriptions.rules.origin import How, Origin
from subscriptions.rules.sign_up import noted, tidy_name
from subscriptions.services.consenting import consent, record_consents
from subscriptions.services.leaving import leave
from subscriptions.services.notifying import ask_to_confirm, renew_nonce
from subscriptions.services.signing_up import mark_confirmed

BY_ADMIN = Origin(How.ADMIN, words="An admin added this address, and says that its owner agreed.")


def subscribe(
    *,
    subscribable: Subscribable,
    data: Mapping[str, str],
    now: datetime,
    confirmed: bool = True,
    language: str = "",
    origin: Origin = BY_ADMIN,
) -> Subscription:
    """Adds, or takes back, a subscriber; `data` are the channel's destination fields, such as email.

    Unconfirmed ones get the confirmation by mail; who is confirmed stays so. Asks the service whether new
    credentials are good before anything is written. Raises InvalidDestination.
    """
    kind = kinds.get(subscribable.channel)
    parsed = kind.parse_destination(data)
    kind.check(parsed)
    with transaction.atomic():
        _refuse_suppressed(subscribable.channel, parsed)
        subscription = _subscription(subscribable, parsed, now=now, language=language)
        if subscription.status == Subscription.Status.CONFIRMED:
            subscription.save()
        elif confirmed:
            mark_confirmed(subscription, now=now)
            record_consents([consent(subscription, Consent.Act.ADDED, origin, at=now)])
        else:
            _ask(subscription, origin=origin, now=now, language=language)
    return subscription


def _ask(subscription: Subscription, *, origin: Origin, now: datetime, language: str) -> None:
    if now.timestamp() in (subscription.notices_at or ()):
        return
    begins = subscription.added_at == now or subscription.status != Subscription.Status.UNCONFIRMED
    subscription.status = Subscription.Status.UNCONFIRMED
    subscription.notices_at = noted(subscription.notices_at, now)
    renew_nonce(subscription)
    subscription.save()
    record_consents([consent(subscription, Consent.Act.ASKED, origin, at=now)])
    if begins:
        emit(Event(Kind.CREATED, (subscription.pk,), now))
    ask_to_confirm([subscription], now=now, language=language)


def unsubscribe(*, subscription: Subscription, now: datetime) -> None:
    """Ends a subscription. A second time changes nothing."""
    leave(subscription=subscription, now=now)


def _refuse_suppressed(kind: str, parsed: ParsedDestination) -> None:
    suppressed = Suppression.objects.filter(kind=kind, core=parsed.core).first()
    if suppressed is not None:
        reason = f" ({suppressed.reason})" if suppressed.reason else ""
        raise InvalidDestination(
            f"{parsed.label} must not be written to{reason}. Remove its suppression first."
        )


def _subscription(
    subscribable: Subscribable, parsed: ParsedDestination, *, now: datetime, language: str
) -> Subscription:
    """The row, locked, with the admin's name and language for it; not saved yet."""
    subscription, _ = Subscription.objects.select_for_update(no_key=True).get_or_create(
        subscribable=subscribable,
        destination=_destination(subscribable.channel, parsed, now=now),
        defaults={"added_at": now},
    )
    subscription.display_name = tidy_name(parsed.display_name) or subscription.display_name
    subscription.language = language or subscription.language
    return subscription


def _destination(kind: str, parsed: ParsedDestination, *, now: datetime) -> Destination:
    """An admin's credentials replace what was kept: that is how an expired token is renewed."""
    facts = {"label": parsed.label, "config": parsed.config, "secrets": parsed.secrets}
    destination, created = Destination.objects.get_or_create(
        kind=kind, core=parsed.core, defaults={**facts, "added_at": now}
    )
    if not created and (parsed.secrets or parsed.config):
        for field, value in facts.items():
            setattr(destination, field, value)
        destination.disabled_at, destination.disabled_reason = None, ""
        destination.save()
    return destination
