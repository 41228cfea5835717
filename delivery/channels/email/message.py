"""Turns a letter and its recipient into the message that goes out. Pure."""

import hmac
import re
from dataclasses import dataclass, field
from datetime import datetime
from email.utils import format_datetime

from delivery.channels.base import Letter, Recipient
from delivery.channels.email import headers
from delivery.channels.email.address import Address, parse_sender
from delivery.channels.email.body import body
from delivery.dkim.keys import Key
from delivery.dkim.signing import sign
from delivery.rendering.fields import values_for
from delivery.rendering.fill import fill_header, fill_html, fill_text

# A test shows the letter as subscribers get it.
BULK_KINDS = frozenset({"issue", "test"})


@dataclass(frozen=True, slots=True)
class MailMessage:
    """`sender` and `recipient` are the envelope. `data` has CRLF line ends and no Date yet."""

    sender: str
    recipient: str
    subject: str
    data: bytes
    signing_keys: tuple[Key, ...] = field(default=(), repr=False)

    @property
    def needs_utf8(self) -> bool:
        """Whether only a server with SMTPUTF8 (RFC 6531) can take it: a local part is not ASCII,
        in the envelope or in the header (a From, where the envelope has a return address of ours)."""
        head = self.data[: self.data.find(b"\r\n\r\n")]
        return not (self.sender.isascii() and self.recipient.isascii() and head.isascii())

    def dated(self, now: datetime) -> bytes:
        """The octets as sent at `now` (aware), signed where the sender's domain has keys."""
        dated = f"Date: {format_datetime(now)}\r\n".encode() + self.data
        return sign(dated, self.signing_keys, now) + dated if self.signing_keys else dated


def compose(letter: Letter, recipient: Recipient, *, site_host: str, return_path: str = "") -> MailMessage:
    """The message of one delivery. Raises InvalidDestination when the sender is no address.

    `return_path` is where bounces go: the envelope's sender (RFC 5321 §4.4). Without one they go to From.
    """
    sender = parse_sender(letter.from_email)
    address = headers.checked(recipient.config.get("address") or recipient.core)
    values = values_for(letter, recipient)
    subject = headers.one_line(fill_header(letter.subject, letter.holes, values))
    fields = [
        headers.address_field("From", sender),
        headers.address_field("To", Address(address, address, recipient.core, recipient.name)),
        headers.address_field("Reply-To", parse_sender(letter.reply_to)) if letter.reply_to else "",
        headers.text_field("Subject", subject),
        f"Message-ID: {message_id(letter.token, recipient.delivery_id, sender.domain)}\r\n",
        "MIME-Version: 1.0\r\n",
        # RFC 3834 §5: keeps vacation notices away.
        "Auto-Submitted: auto-generated\r\n",
        _language(letter.language),
        *(_list_fields(letter, recipient, site_host) if letter.kind in BULK_KINDS else ()),
    ]
    text = fill_text(letter.text, letter.holes, values)
    html = fill_html(letter.html, letter.holes, values)
    data = "".join(fields).encode() + body(text, html)
    envelope = headers.checked(return_path) if return_path else sender.email
    return MailMessage(envelope, address, subject, data, letter.signing_keys)


def message_id(token: str, delivery_id: int, domain: str) -> str:
    """The same for every attempt of a delivery, so that mailboxes can drop a duplicate."""
    return f"<{message_mark(token, delivery_id)}.{delivery_id}@{domain}>"


def message_mark(token: str, delivery_id: int) -> str:
    """32 hex digits that nobody can guess from another reader's letter of the same issue: a report that
    quotes them comes from someone who had this one."""
    return hmac.digest(token.encode(), f"message-id:{delivery_id}".encode(), "sha256")[:16].hex()


def list_id(name: str, host: str) -> str:
    """The newsletter's identity (RFC 2919), a dot-atom: it does not change with the title."""
    labels = [label for label in f"{name}.{host}".split(".") if label]
    return "<" + re.sub("[^A-Za-z0-9._-]", "-", ".".join(labels)) + ">"


def _list_fields(letter: Letter, recipient: Recipient, site_host: str) -> list[str]:
    title = headers.phrase(letter.newsletter_title)
    identity = list_id(letter.newsletter, site_host)
    fields = [headers.named_field("List-Id", title, identity) if title else f"List-Id: {identity}\r\n"]
    fields.append("Precedence: bulk\r\n")
    if recipient.unsubscribe_url:
        fields.append(headers.url_field("List-Unsubscribe", recipient.unsubscribe_url))
        # RFC 8058 §3.1, word for word.
        fields.append("List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\n")
    if letter.archive_url:
        fields.append(headers.url_field("List-Archive", letter.archive_url))
    return fields


def _language(tag: str) -> str:
    return f"Content-Language: {tag}\r\n" if re.fullmatch("[A-Za-z0-9-]{1,35}", tag) else ""
