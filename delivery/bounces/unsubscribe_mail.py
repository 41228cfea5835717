"""Reads a mail to leave@BOUNCE_DOMAIN: which subscription it wants to end. Pure.

RFC 2369 §3.2: mail programs send it for the reader, with the subject that List-Unsubscribe names. The
subject, or what stands after a plus in the address, is a link token, which proves itself: some programs mark
the mail as automatic (Apple Mail, as a reply), and it counts all the same.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from email import message_from_bytes
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message

from common.signing import LINK
from delivery.bounces.parsing import Unreadable, read
from delivery.rules.bounce_policy import BounceKind

ADDRESS = "leave"
HEAD_BYTES = 64_000
MAX_SUBJECT = 2_000
MOST_ADDRESSES = 50
# Where mail hosts and people write whom it is for.
_FOR = ("to", "cc", "delivered-to", "x-original-to", "envelope-to", "x-envelope-to", "resent-to")
_TOKEN = re.compile(rf"(?<![0-9A-Za-z-])({LINK.pattern})(?![0-9A-Za-z-])", re.IGNORECASE | re.ASCII)


@dataclass(frozen=True, slots=True)
class Leaving:
    """A mail to that address, and the token it holds: empty where there is none, or no person behind it."""

    token: str = ""


def leaving(raw: bytes, *, domain: str, recipient: str = "") -> Leaving | None:
    """None for a mail to another address. `recipient` is whom the envelope named, where that is known."""
    if not domain:
        return None
    head = message_from_bytes(re.split(rb"\r?\n\r?\n", raw[:HEAD_BYTES], maxsplit=1)[0] + b"\n\n")
    addressed = re.compile(
        rf"(?<![^\s<,;:\"]){ADDRESS}(\+[^@\s<>]*)?@{re.escape(domain)}(?![\w.-])", re.IGNORECASE
    )
    found = [match for text in _recipients(head, recipient) for match in addressed.finditer(text)]
    if not found:
        return None
    named = _token((match[1] or "")[1:] for match in found[:MOST_ADDRESSES])
    subjects = list(_subjects(head))
    if not named and (_is_wish(head, subjects) or not _is_nobody(head, raw)):
        named = _token(subjects)
    return Leaving(named)


def _token(texts: Iterable[str]) -> str:
    return next((match[1].lower() for text in texts if (match := _TOKEN.search(text))), "")


def _is_wish(head: Message, subjects: list[str]) -> bool:
    """Whether it is what List-Unsubscribe asks for: a program that answers adds words of its own."""
    return "x-apple-unsubscribe" in head or bool(_TOKEN.fullmatch("".join(subjects[0].split())))


def _recipients(head: Message, recipient: str) -> Iterator[str]:
    if recipient:
        yield recipient
        return
    for name, value in head.raw_items():
        if name.lower() in _FOR:
            yield re.sub(r"\r?\n[ \t]*", " ", str(value))


def _subjects(head: Message) -> Iterator[str]:
    """The subject as it is meant, and without the spaces that a fold may have left in it."""
    subject = next((str(value) for name, value in head.raw_items() if name.lower() == "subject"), "")
    subject = _decoded(subject[:MAX_SUBJECT])
    yield subject
    yield "".join(subject.split()).rpartition(":")[2]


def _decoded(subject: str) -> str:
    """RFC 2047; what cannot be decoded stays as it is."""
    try:
        parts = decode_header(subject)
    except (HeaderParseError, ValueError):
        return subject
    return "".join(
        part if isinstance(part, str) else part.decode("ascii" if charset is None else "utf-8", "replace")
        for part, charset in parts
    )


def _is_nobody(head: Message, raw: bytes) -> bool:
    """Whether a machine answers, or sends a mail back: neither wants to leave."""
    if (
        next((str(value).strip() for name, value in head.raw_items() if name.lower() == "return-path"), "")
        == "<>"
    ):
        return True
    try:
        report = read(raw)
    except Unreadable:
        return True
    return report.kind is BounceKind.AUTO_REPLY or bool(report.findings)
