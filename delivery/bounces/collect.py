"""Process BOUNCE_URL's mailbox: bounces, and unsubscribe requests to leave@BOUNCE_DOMAIN (RFC 2369 §3.2).

Mail programs send these with List-Unsubscribe's subject. That, or the address after a plus, is a link token,
which proves the request even if the mail is marked as automatic, as by Apple Mail.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from email import message_from_bytes
from email.message import Message

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import InterfaceError, OperationalError

from common.clock import utcnow
from common.passes import TimeBudget
from common.shutdown import stopping
from common.signing import LINK_TOKEN, TokenError
from delivery.bounces.account import parse_bounce_url
from delivery.bounces.mail_parts import decoded_field
from delivery.bounces.parsing import Unreadable, read_report
from delivery.bounces.record import Taken, prune_bounces, take_report
from delivery.bounces.replies import is_unanswerable
from delivery.bounces.sources import SourceError, open_mailbox
from delivery.rules.bounce_policy import BounceKind
from subscriptions.links import UNSUBSCRIBE, find
from subscriptions.models import Subscription
from subscriptions.subscribers.leave import leave

LEAVING = "leaving"

log = logging.getLogger(__name__)
ADDRESS = "leave"
HEAD_BYTES = 64_000
MOST_LEAVE_ADDRESSES = 50
# Fields that name recipients.
_FOR = ("to", "cc", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to", "resent-to")
_TOKEN = re.compile(rf"(?<![0-9A-Za-z-])({LINK_TOKEN.pattern})(?![0-9A-Za-z-])", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Leaving:
    """`token` is empty without one, or if no person sent the mail."""

    token: str = ""


def leaving(raw: bytes, *, domain: str, recipient: str = "") -> Leaving | None:
    """Return None for other addresses; `recipient` is the envelope's."""
    if not domain:
        return None
    head = message_from_bytes(re.split(rb"\r?\n\r?\n", raw[:HEAD_BYTES], maxsplit=1)[0] + b"\n\n")
    addressed = re.compile(
        rf"(?<![^\s<,;:\"]){ADDRESS}(\+[^@\s<>]*)?@{re.escape(domain)}(?![\w.-])", re.IGNORECASE
    )
    recipients = (
        [recipient]
        if recipient
        else [
            re.sub(r"\r?\n[ \t]*", " ", str(value))
            for name, value in head.raw_items()
            if name.lower() in _FOR
        ]
    )
    found = [match for text in recipients for match in addressed.finditer(text)]
    if not found:
        return None
    named = _token((match[1] or "")[1:] for match in found[:MOST_LEAVE_ADDRESSES])
    subject = decoded_field(head, "subject")
    # Folding may leave spaces.
    folded = "".join(subject.split())
    # The token alone: automatic replies add words.
    is_wish = "x-apple-unsubscribe" in head or _TOKEN.fullmatch(folded)
    if not named and (is_wish or not _is_automatic(head, raw)):
        named = _token((subject, folded.rpartition(":")[2]))
    return Leaving(named)


def _token(texts: Iterable[str]) -> str:
    return next((match[1].lower() for text in texts if (match := _TOKEN.search(text))), "")


def _is_automatic(head: Message, raw: bytes) -> bool:
    """Return whether it is an automatic reply or a report."""
    if is_unanswerable(head):
        return True
    try:
        report = read_report(raw)
    except Unreadable:
        return True
    return report.kind is BounceKind.AUTO_REPLY or bool(report.findings)


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
