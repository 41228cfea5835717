"""Takes the events of mail services about our letters, by anymail: bounces, complaints, unsubscriptions."""

import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anymail.signals import EventType, RejectReason
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from common.clock import utcnow
from common.text import one_line, shortened
from delivery.accounts.default_account import secret_url
from delivery.bounces.finding import MAX_ADDRESS, MAX_DIAGNOSTIC, BounceFinding
from delivery.bounces.record import email_core, take_finding
from delivery.channels.email.account_url import parse_email_url
from delivery.channels.email.esp.metadata import delivery_of
from delivery.channels.email.esp.settings import EspSettings
from delivery.models import Account, Delivery
from delivery.rules.bounce_policy import BounceKind, kind_of
from delivery.rules.meaning import Concern
from delivery.rules.server_words import meaning, precise
from subscriptions.subscribers.leave import leave

# The fields in which services say whether a bounce is permanent: SES, Postmark, Brevo, MailerSend, Mandrill,
# Resend, Mailgun …
_TELLING = frozenset(
    {"type", "event", "bouncetype", "bouncesubtype", "severity", "bounce_description", "subtype"}
)
_FOR_GOOD = re.compile(r"hard|permanent|invalid|bad_mailbox|suppress", re.IGNORECASE)
_FOR_NOW = re.compile(r"soft|transient|temporary|undetermined|full|delay", re.IGNORECASE)
# Some services call a refusal permanent that was because of us.
_NOT_THE_ADDRESS = frozenset({Concern.MAILBOX, Concern.US, Concern.LETTER})
# SparkPost's classes of permanent bounces: invalid recipient, no such recipient.
_SPARKPOST_HARD = frozenset({"10", "30"})
_DEPTH = 4


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class EspEvent:
    """What an event means: a finding about the recipient, or that the reader wants to leave."""

    finding: BounceFinding | None = None
    leaves: bool = False


def parse_event(event: Any) -> EspEvent:
    """What an event (AnymailTrackingEvent) says of its recipient. Most say nothing that matters here."""
    parts = (str(part) for part in (event.mta_response, event.description) if part)
    words = shortened(one_line(" — ".join(dict.fromkeys(parts))[: 8 * MAX_DIAGNOSTIC]), MAX_DIAGNOSTIC)
    kind = _kind(event, words)
    if kind is None:
        # The reader has left by a button or link of the service, now or earlier.
        before = event.event_type == EventType.REJECTED and event.reject_reason == RejectReason.UNSUBSCRIBED
        return EspEvent(leaves=before or event.event_type == EventType.UNSUBSCRIBED)
    address = one_line(str(event.recipient or ""))[:MAX_ADDRESS]
    return EspEvent(BounceFinding(kind, (address,) if address else (), precise("", words)[:16], words))


def event_digest(event: Any, esp: str, delivery_id: int) -> str:
    """The same for the same event, however often it comes. All delays of a letter share one, and its row."""
    facts: tuple[object, ...] = (event.event_id,)
    if event.event_type == EventType.DEFERRED:
        facts = ()
    elif not event.event_id:
        facts = (event.timestamp, event.mta_response, event.description)
    text = "\0".join(map(str, (esp, delivery_id, event.event_type, *facts)))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _kind(event: Any, words: str) -> BounceKind | None:
    if event.event_type == EventType.COMPLAINED:
        return BounceKind.COMPLAINT
    if event.event_type == EventType.DEFERRED:
        return BounceKind.DELAYED
    if event.event_type == EventType.REJECTED:
        # The service did not even try, mostly because of its own suppression list.
        if event.reject_reason == RejectReason.UNSUBSCRIBED:
            return None
        if event.reject_reason in (RejectReason.INVALID, RejectReason.BOUNCED):
            return BounceKind.HARD
        return BounceKind.COMPLAINT if event.reject_reason == RejectReason.SPAM else BounceKind.POLICY
    if event.event_type not in (EventType.BOUNCED, EventType.FAILED):
        return None
    # The mail server's words count where they hold a code, or tell of something else than the address. Else
    # the service's own word for it counts.
    if precise("", words) or meaning(words).concern in _NOT_THE_ADDRESS:
        return kind_of(action="failed", status="", diagnostic=words)
    if event.reject_reason in (RejectReason.BLOCKED, RejectReason.SPAM):
        return BounceKind.POLICY
    if event.reject_reason == RejectReason.INVALID:
        return BounceKind.HARD
    said = " ".join(_said(event.esp_event))
    if _FOR_NOW.search(said) or event.reject_reason == RejectReason.TIMED_OUT:
        return BounceKind.SOFT
    if _FOR_GOOD.search(said):
        return BounceKind.HARD
    if event.event_type == EventType.FAILED:
        return BounceKind.POLICY
    return kind_of(action="", status="", diagnostic=words)


def _said(value: Any, depth: int = _DEPTH) -> Iterator[str]:
    """The service's own words for what kind of bounce it was."""
    if depth and isinstance(value, Mapping):
        for key, inner in value.items():
            name = str(key).lower()
            if isinstance(inner, Mapping):
                yield from _said(inner, depth - 1)
            elif name == "hard_bounce":  # Mailjet
                yield "hard" if str(inner).lower() in ("true", "1") else "soft"
            elif name == "bounce_class":  # SparkPost
                yield "hard" if str(inner) in _SPARKPOST_HARD else "soft"
            elif name in _TELLING:
                yield str(inner)[:100]


def on_tracking(sender: Any, event: Any, esp_name: str, **_: Any) -> None:
    """Receives anymail's signal. Errors of the database are raised, so that the service tries again."""
    said = parse_event(event)
    if said.finding is None and not said.leaves:
        return
    rows = Delivery.objects.select_related("destination", "subscription").defer("context")
    rows = rows.filter(lane__kind="email")
    pk = delivery_of(event.metadata if isinstance(event.metadata, dict) else {})
    if pk is not None:
        delivery = rows.filter(pk=pk).first()
    else:
        # Two services do not return the metadata that we sent along: there the message's id tells, which
        # nobody else knows, and the address that it went to.
        core = email_core(str(event.recipient or ""))
        sent = rows.filter(destination__kind="email", destination__core=core)
        known = bool(core and event.message_id)
        delivery = sent.filter(remote_id=str(event.message_id)[:255]).first() if known else None
    if delivery is None:
        log.info("a mail service told of a letter that is not ours", extra={"event": event.event_type})
    elif said.finding is not None:
        digest = event_digest(event, esp_name, delivery.pk)
        take_finding(delivery=delivery, finding=said.finding, digest=digest, now=utcnow())
    elif delivery.subscription is not None:
        leave(subscription=delivery.subscription, now=utcnow())


def accounts_with(esp: str) -> Iterator[EspSettings]:
    """The accounts with that service: EMAIL_URL's and the others. Those that cannot be read are left out."""
    for url in (settings.EMAIL_URL, *map(secret_url, Account.objects.mail().order_by("pk"))):
        try:
            target = parse_email_url(url)
        except ImproperlyConfigured:
            continue
        if isinstance(target, EspSettings) and target.esp == esp:
            yield target
