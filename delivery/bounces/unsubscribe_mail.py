"""Reads a mail to leave@BOUNCE_DOMAIN: which subscription it wants to end. Pure.

RFC 2369 §3.2: mail programs send it for the reader, with the subject that List-Unsubscribe names. The
subject, or what stands after a plus in the address, is a link token. It proves itself, so that the mail
counts even if the program marks it as automatic, as Apple Mail does (as a reply).
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
# The fields in which mail hosts and people write whom a mail is for.
_FOR = ("to", "cc", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to", "resent-to")
_TOKEN = re.compile(rf"(?<![0-9A-Za-z-])({LINK_TOKEN.pattern})(?![0-9A-Za-z-])", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Leaving:
    """A mail to that address. `token` is empty if it holds none, or if no person is behind the mail."""

    token: str = ""


def leaving(raw: bytes, *, domain: str, recipient: str = "") -> Leaving | None:
    """None for a mail to another address. `recipient` is whom the envelope named, where that is known."""
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
    # Without the spaces that a fold may have left in it.
    folded = "".join(subject.split())
    # Nothing but the token is what List-Unsubscribe asks for: a program that answers adds words of its own.
    is_wish = "x-apple-unsubscribe" in head or _TOKEN.fullmatch(folded)
    if not named and (is_wish or not _is_automatic(head, raw)):
        named = _token((subject, folded.rpartition(":")[2]))
    return Leaving(named)


def _token(texts: Iterable[str]) -> str:
    return next((match[1].lower() for text in texts if (match := _TOKEN.search(text))), "")


def _is_automatic(head: Message, raw: bytes) -> bool:
    """Whether a machine answers, or sends a mail back: neither wants to leave."""
    if is_unanswerable(head):
        return True
    try:
        report = read_report(raw)
    except Unreadable:
        return True
    return report.kind is BounceKind.AUTO_REPLY or bool(report.findings)
