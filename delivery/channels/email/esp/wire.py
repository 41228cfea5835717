"""Takes a message of ours apart again, for services that want its parts instead of the whole. Pure."""

import re
from dataclasses import dataclass, field
from email import message_from_string, policy
from email.message import EmailMessage

from delivery.channels.email.mail_message import MailMessage

# What a service writes itself, or takes in fields of its own.
_THEIRS = frozenset({"from", "to", "reply-to", "subject", "date", "message-id", "mime-version"})
_DELIVERY = re.compile(r"\.([1-9][0-9]{0,17})@")


@dataclass(frozen=True, slots=True)
class Parts:
    """One recipient's message. `address` stands alone, `to` with the name; `headers` are all others."""

    delivery_id: int
    address: str
    to: str
    sender: str
    reply_to: str
    subject: str
    text: str
    html: str
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """About as many octets as it takes in a request."""
        return len(self.text) + len(self.html) + 1000


def parts(message: MailMessage) -> Parts:
    """The parts of a message that WireLetter made."""
    # As text: an address of RFC 6531 stands in the header as it is.
    mail = message_from_string(message.data.decode(), policy=policy.default)
    assert isinstance(mail, EmailMessage)  # noqa: S101 - for the type checker
    found = _DELIVERY.search(str(mail["Message-ID"]))
    return Parts(
        delivery_id=int(found[1]) if found else 0,
        address=message.recipient,
        to=str(mail["To"]),
        sender=str(mail["From"]),
        reply_to=str(mail["Reply-To"] or ""),
        subject=message.subject,
        text=_content(mail, "plain"),
        html=_content(mail, "html"),
        headers=_others(mail),
    )


def newsletter(headers: dict[str, str], host: str) -> str:
    """The newsletter's name as List-Id has it (RFC 2919); empty for mails that belong to none."""
    found = re.search(r"<([^<>]+)>\s*$", headers.get("List-Id", ""))
    return found[1].removesuffix(f".{host}") if found else ""


def _content(mail: EmailMessage, kind: str) -> str:
    body = mail.get_body((kind,))
    return str(body.get_content()).replace("\r\n", "\n") if body else ""


def _others(mail: EmailMessage) -> dict[str, str]:
    """The other fields, each in one line, as they were written."""
    found = {}
    for name, value in mail.raw_items():
        if name.lower() not in _THEIRS and not name.lower().startswith("content-"):
            line = _ascii(re.sub(r"\r?\n[ \t]*", " ", str(value)).strip())
            found.update({name: line} if line else {})
    return found


def _ascii(line: str) -> str:
    """Services write encoded words (RFC 2047) anew, some wrongly: only what follows the last one stays."""
    return line.rpartition("?=")[2].strip() if "=?" in line or not line.isascii() else line
