"""Unsubscribe requests to leave@BOUNCE_DOMAIN (RFC 2369 §3.2). Pure.

Mail programs send them with List-Unsubscribe's subject. That, or the address after a plus, is a link token,
which proves the request even if the mail is marked as automatic, as by Apple Mail.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from email import message_from_bytes
from email.message import Message

from common.signing import LINK_TOKEN
from delivery.bounces.mail_parts import decoded_field
from delivery.bounces.parsing import Unreadable, read_report
from delivery.bounces.replies import is_unanswerable
from delivery.rules.bounce_policy import BounceKind

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
