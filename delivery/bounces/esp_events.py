"""Mail services' events, by anymail: bounces, complaints, unsubscriptions."""

import hashlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anymail.signals import EventType
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from channels.email.account_url import parse_email_url
from channels.email.esp.message_form import delivery_of
from channels.email.esp.settings import EspSettings
from channels.rules.server_words import precise
from common.clock import utcnow
from common.text import one_line
from delivery.accounts.accounts import secret_url
from delivery.bounces.fields import MAX_ADDRESS, BounceFinding, clean
from delivery.bounces.record import IGNORED, email_core, take_finding
from delivery.bounces.service_events import read_event, verdict_of
from delivery.bounces.service_verdicts import COMPLAINT, DELAYED, LEAVES, NOTHING, POLICY
from delivery.models import Account, Delivery
from delivery.rules.bounce_policy import BounceKind
from subscriptions.subscribers.leave import leave

log = logging.getLogger(__name__)

# Log an unknown type once: services send the same event for thousands of letters.
_unknown_types: set[tuple[str, str]] = set()
MOST_UNKNOWN_TYPES = 200
# By anymail's types, for events missing in the table.
_BY_ANYMAIL = {
    EventType.COMPLAINED: COMPLAINT,
    EventType.DEFERRED: DELAYED,
    EventType.UNSUBSCRIBED: LEAVES,
    EventType.REJECTED: POLICY,
    EventType.FAILED: POLICY,
    EventType.BOUNCED: POLICY,
}


@dataclass(frozen=True, slots=True)
class EspEvent:
    finding: BounceFinding | None = None
    leaves: bool = False


def parse_event(event: Any, service: str) -> EspEvent:
    """Return an AnymailTrackingEvent's meaning."""
    facts = read_event(service, event)
    verdict = verdict_of(service, facts)
    if verdict is None:
        unknown = (service, facts.type)
        if unknown not in _unknown_types and len(_unknown_types) < MOST_UNKNOWN_TYPES:
            _unknown_types.add(unknown)
            log.warning("%s sent an event of an unknown type: %r", service, facts.type)
        verdict = _BY_ANYMAIL.get(event.event_type, NOTHING)
    if verdict.kind is None or verdict.kind in IGNORED:
        return EspEvent(leaves=verdict.leaves)
    parts = (str(part) for part in (event.mta_response, event.description, facts.words) if part)
    unique = dict.fromkeys(parts)
    words = [part for part in unique if not any(part != other and part in other for other in unique)]
    address = one_line(str(event.recipient or ""))[:MAX_ADDRESS]
    status = precise(facts.status, facts.words)[:16]
    return EspEvent(
        BounceFinding(verdict.kind, (address,) if address else (), status, clean(" — ".join(words)))
    )


def event_digest(event: Any, meaning: EspEvent, service: str, delivery_id: int) -> str:
    """Return a digest for deduplication. All delays of a letter share one row."""
    identity: tuple[object, ...] = (event.event_type, event.event_id)
    if meaning.finding is not None and meaning.finding.kind is BounceKind.DELAYED:
        identity = (EventType.DEFERRED,)
    elif not event.event_id:
        identity = (event.event_type, event.timestamp, event.mta_response, event.description)
    text = "\0".join(map(str, (service, delivery_id, *identity)))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def on_tracking(sender: Any, event: Any, esp_name: str, **_: Any) -> None:
    """Handle anymail's signal. Raises database errors, so that the service retries."""
    said = parse_event(event, esp_name)
    if said.finding is None and not said.leaves:
        return
    rows = Delivery.objects.select_related("destination", "subscription").defer("context")
    rows = rows.filter(lane__kind="email")
    pk = delivery_of(event.metadata if isinstance(event.metadata, dict) else {})
    if pk is not None:
        delivery = rows.filter(pk=pk).first()
    else:
        # Two services omit our metadata: use the message id, which is secret, and the recipient.
        core = email_core(str(event.recipient or ""))
        sent = rows.filter(destination__kind="email", destination__core=core)
        known = bool(core and event.message_id)
        delivery = sent.filter(remote_id=str(event.message_id)[:255]).first() if known else None
    if delivery is None:
        log.info("a mail service reported an email that is not ours", extra={"event": event.event_type})
    elif said.finding is not None:
        digest = event_digest(event, said, esp_name, delivery.pk)
        take_finding(delivery=delivery, finding=said.finding, digest=digest, now=utcnow())
    elif delivery.subscription is not None:
        leave(subscription=delivery.subscription, now=utcnow())


def accounts_with(esp: str) -> Iterator[EspSettings]:
    """Return accounts with this service, except unreadable ones."""
    for url in (settings.EMAIL_URL, *map(secret_url, Account.objects.mail().order_by("pk"))):
        try:
            target = parse_email_url(url)
        except ImproperlyConfigured:
            continue
        if isinstance(target, EspSettings) and target.esp == esp:
            yield target
