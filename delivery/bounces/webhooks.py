"""Reads what a mail service tells of a letter, as anymail words it (tracking events). Pure."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from anymail.signals import EventType, RejectReason

from common.text import one_line, shortened
from delivery.bounces.parsing import MAX_ADDRESS, MAX_WORDS, Finding
from delivery.rules.bounce_policy import Kind, kind_of, precise

# Where services say whether it is for good: SES, Postmark, Brevo, MailerSend, Mandrill, Resend, Mailgun …
_TELLING = frozenset(
    {"type", "event", "bouncetype", "bouncesubtype", "severity", "bounce_description", "subtype"}
)
_FOR_GOOD = re.compile(r"hard|permanent|invalid|bad_mailbox|suppress", re.IGNORECASE)
_FOR_NOW = re.compile(r"soft|transient|temporary|undetermined|full|delay", re.IGNORECASE)
# SparkPost's classes of what is for good: invalid recipient, no such recipient.
_SPARKPOST_HARD = frozenset({"10", "30"})
_DEPTH = 4


@dataclass(frozen=True, slots=True)
class Told:
    """What follows from an event: something was found out, or the reader wants to leave."""

    finding: Finding | None = None
    leaves: bool = False


NOTHING = Told()


def told(event: Any) -> Told:
    """What an event (AnymailTrackingEvent) says of its recipient. Most say nothing that matters here."""
    kind = _kind(event)
    if kind is None:
        return Told(leaves=True) if _leaves(event) else NOTHING
    words = _words(event)
    address = one_line(str(event.recipient or ""))[:MAX_ADDRESS]
    return Told(Finding(kind, (address,) if address else (), precise("", words)[:16], words))


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


def _kind(event: Any) -> Kind | None:
    if event.event_type == EventType.COMPLAINED:
        return Kind.COMPLAINT
    if event.event_type == EventType.DEFERRED:
        return Kind.DELAYED
    if event.event_type == EventType.REJECTED:
        return _of_rejection(event)
    if event.event_type in (EventType.BOUNCED, EventType.FAILED):
        return _of_bounce(event)
    return None


def _of_rejection(event: Any) -> Kind | None:
    """The service did not even try, mostly because of its own suppression list."""
    if event.reject_reason == RejectReason.UNSUBSCRIBED:
        return None
    if event.reject_reason in (RejectReason.INVALID, RejectReason.BOUNCED):
        return Kind.HARD
    return Kind.COMPLAINT if event.reject_reason == RejectReason.SPAM else Kind.POLICY


def _of_bounce(event: Any) -> Kind:
    """By the mail server's words where they hold a code; else by the service's own word for it."""
    words = _words(event)
    if precise("", words):
        return kind_of(action="failed", status="", diagnostic=words)
    if event.reject_reason in (RejectReason.BLOCKED, RejectReason.SPAM):
        return Kind.POLICY
    if event.reject_reason == RejectReason.INVALID:
        return Kind.HARD
    said = " ".join(_said(event.esp_event))
    if _FOR_NOW.search(said) or event.reject_reason == RejectReason.TIMED_OUT:
        return Kind.SOFT
    if _FOR_GOOD.search(said):
        return Kind.HARD
    return (
        Kind.POLICY
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
