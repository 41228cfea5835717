"""What mail services tell of our letters (anymail's tracking events): bounces, complaints, readers
who leave.
"""

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
from common.ports import channels
from common.ports.channels import InvalidDestination
from common.secrets import opened
from common.text import one_line, shortened
from delivery.bounces.finding import MAX_ADDRESS, MAX_WORDS, Finding
from delivery.bounces.record import take_finding
from delivery.channels.email.account_url import parse_email_url
from delivery.channels.email.esp.metadata import delivery_of
from delivery.channels.email.esp.settings import EspSettings
from delivery.models import Account, Delivery
from delivery.rules.bounce_policy import BounceKind, kind_of
from delivery.rules.meaning import Concern
from delivery.rules.server_words import meaning, precise
from subscriptions.subscribers.leave import leave

# Where services say whether it is for good: SES, Postmark, Brevo, MailerSend, Mandrill, Resend, Mailgun …
_TELLING = frozenset(
    {"type", "event", "bouncetype", "bouncesubtype", "severity", "bounce_description", "subtype"}
)
_FOR_GOOD = re.compile(r"hard|permanent|invalid|bad_mailbox|suppress", re.IGNORECASE)
_FOR_NOW = re.compile(r"soft|transient|temporary|undetermined|full|delay", re.IGNORECASE)
# Some services call for good what a server has refused because of us.
_NOT_THE_ADDRESS = frozenset({Concern.MAILBOX, Concern.US, Concern.LETTER})
# SparkPost's classes of what is for good: invalid recipient, no such recipient.
_SPARKPOST_HARD = frozenset({"10", "30"})
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class EspEvent:
    """What follows from an event: something was found out, or the reader wants to leave."""

    finding: Finding | None = None
    leaves: bool = False


NOTHING = EspEvent()


def told(event: Any) -> EspEvent:
    """What an event (AnymailTrackingEvent) says of its recipient. Most say nothing that matters here."""
    kind = _kind(event)
    if kind is None:
        return EspEvent(leaves=True) if _leaves(event) else NOTHING
    words = _words(event)
    address = one_line(str(event.recipient or ""))[:MAX_ADDRESS]
    return EspEvent(Finding(kind, (address,) if address else (), precise("", words)[:16], words))


def digest(event: Any, esp: str, delivery_id: int) -> str:
    """The same for the same event, however often it is told. A letter has one row for all of its delays."""
    facts: tuple[object, ...] = (event.event_id,)
    if event.event_type == EventType.DEFERRED:
        facts = ()
    elif not event.event_id:
        facts = (event.timestamp, event.mta_response, event.description)
    text = "\0".join(map(str, (esp, delivery_id, event.event_type, *facts)))
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _leaves(event: Any) -> bool:
    """The reader has left by a button or link of the service, now or earlier."""
    before = event.event_type == EventType.REJECTED and event.reject_reason == RejectReason.UNSUBSCRIBED
    return bool(before or event.event_type == EventType.UNSUBSCRIBED)


def _kind(event: Any) -> BounceKind | None:
    if event.event_type == EventType.COMPLAINED:
        return BounceKind.COMPLAINT
    if event.event_type == EventType.DEFERRED:
        return BounceKind.DELAYED
    if event.event_type == EventType.REJECTED:
        return _of_rejection(event)
    if event.event_type in (EventType.BOUNCED, EventType.FAILED):
        return _of_bounce(event)
    return None


def _of_rejection(event: Any) -> BounceKind | None:
    """The service did not even try, mostly because of its own suppression list."""
    if event.reject_reason == RejectReason.UNSUBSCRIBED:
        return None
    if event.reject_reason in (RejectReason.INVALID, RejectReason.BOUNCED):
        return BounceKind.HARD
    return BounceKind.COMPLAINT if event.reject_reason == RejectReason.SPAM else BounceKind.POLICY


def _of_bounce(event: Any) -> BounceKind:
    """By the mail server's words where they hold a code, or tell of something else than the address.

    Else by the service's own word for it.
    """
    words = _words(event)
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
    return (
        BounceKind.POLICY
        if event.event_type == EventType.FAILED
        else kind_of(action="", status="", diagnostic=words)
    )


def _said(value: Any, depth: int = _DEPTH) -> Iterator[str]:
    """The service's own words for what kind of bounce it was."""
    if depth and isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, Mapping):
                yield from _said(inner, depth - 1)
            else:
                yield _word(str(name).lower(), inner)


def _word(name: str, value: object) -> str:
    if name == "hard_bounce":  # Mailjet
        return "hard" if str(value).lower() in ("true", "1") else "soft"
    if name == "bounce_class":  # SparkPost
        return "hard" if str(value) in _SPARKPOST_HARD else "soft"
    return str(value)[:100] if name in _TELLING else ""


def _words(event: Any) -> str:
    parts = (str(part) for part in (event.mta_response, event.description) if part)
    return shortened(one_line(" — ".join(dict.fromkeys(parts))[: 8 * MAX_WORDS]), MAX_WORDS)


log = logging.getLogger(__name__)


def on_tracking(sender: Any, event: Any, esp_name: str, **_: Any) -> None:
    """Receives anymail's signal. What goes wrong with the database is raised: the service tries again."""
    said = told(event)
    if said.finding is None and not said.leaves:
        return
    delivery = _delivery(event)
    if delivery is None:
        log.info("a mail service told of a letter that is not ours", extra={"event": event.event_type})
    elif said.finding is not None:
        known = digest(event, esp_name, delivery.pk)
        take_finding(delivery=delivery, finding=said.finding, digest=known, now=utcnow())
    elif delivery.subscription is not None:
        leave(subscription=delivery.subscription, now=utcnow())


def accounts_with(esp: str) -> Iterator[EspSettings]:
    """The accounts with that service: EMAIL_URL's and the others. Those that cannot be read are left out."""
    for url in (settings.EMAIL_URL, *_urls()):
        try:
            target = parse_email_url(url)
        except ImproperlyConfigured:
            continue
        if isinstance(target, EspSettings) and target.esp == esp:
            yield target


def _urls() -> Iterator[str]:
    for account in Account.objects.order_by("pk"):
        try:
            yield opened(account.secrets).get("url", "")
        except ValueError:
            continue


def _delivery(event: Any) -> Delivery | None:
    """By what we sent along. Two services send nothing along: there by the message's id, which only they
    and we know, and the address it went to."""
    rows = Delivery.objects.select_related("destination", "subscription").defer("context")
    rows = rows.filter(lane__kind="email")
    pk = delivery_of(event.metadata if isinstance(event.metadata, dict) else {})
    if pk is not None:
        return rows.filter(pk=pk).first()
    core = _core(event.recipient)
    if not core or not event.message_id:
        return None
    remote_id = str(event.message_id)[:255]
    return rows.filter(destination__kind="email", destination__core=core, remote_id=remote_id).first()


def _core(address: object) -> str:
    try:
        return channels.get("email").parse_destination({"email": str(address or "")}).core
    except InvalidDestination:
        return ""
