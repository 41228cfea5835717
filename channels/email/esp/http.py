"""Bounded HTTP session: public addresses only, no redirects."""

import re
import socket
import ssl
from dataclasses import dataclass, field
from email import message_from_string, policy
from email.message import EmailMessage
from typing import Any

import requests
from django.conf import settings

from channels.email.mail_message import MailMessage
from common.net.client import SafeSession
from common.net.errors import AddressRefused, exception_chain, never_left
from common.net.transport import CheckedAdapter

# The service writes these, or gets them separately.
_THEIRS = frozenset({"from", "to", "reply-to", "subject", "date", "message-id", "mime-version"})
_DELIVERY = re.compile(r"\.([1-9][0-9]{0,17})@")


class Unsent(Exception):
    """The service cannot have seen the request. The message completes a sentence about the service."""


class Unanswered(Exception):
    """The request was sent; its result is unknown."""


class EspHttp(SafeSession):
    """For anymail. Raises Unsent and Unanswered."""

    def __init__(self, *, seconds: float) -> None:
        adapter = CheckedAdapter(
            allow=tuple(settings.ALLOW_PRIVATE_NETWORKS), resolve=None, refused=AddressRefused
        )
        agent = f"Feedletter/{settings.VERSION} (django-anymail)"
        super().__init__(adapter, user_agent=agent, seconds=seconds)

    def request(self, *args: Any, **kwargs: Any) -> requests.Response:
        """Follow no redirects, so that the key goes to no other host."""
        try:
            return super().request(*args, **{**kwargs, "allow_redirects": False})
        except (requests.RequestException, OSError) as error:
            raise unfinished(error) from error


def unfinished(error: BaseException) -> Unsent | Unanswered:
    links = list(exception_chain(error))
    if not never_left(error):
        return Unanswered("the connection closed before a response arrived")
    if any(isinstance(link, AddressRefused) for link in links):
        return Unsent("has a private address, which ALLOW_PRIVATE_NETWORKS doesn’t allow")
    if any(isinstance(link, ssl.SSLError) for link in links):
        return Unsent("has no valid certificate")
    if any(isinstance(link, socket.gaierror) for link in links):
        return Unsent("has no address in the DNS")
    return Unsent("can’t be reached")


@dataclass(frozen=True, slots=True)
class Parts:
    """`address` without, `to` with the name; `headers` are all other fields."""

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
        return len(self.text) + len(self.html) + 1000


def message_parts(message: MailMessage) -> Parts:
    # As text: an address of RFC 6531 is not encoded in the header.
    mail = message_from_string(message.data.decode(), policy=policy.default)
    assert isinstance(mail, EmailMessage)  # noqa: S101 - for the type checker
    headers = {}
    for name, value in mail.raw_items():
        if name.lower() in _THEIRS or name.lower().startswith("content-"):
            continue
        line = re.sub(r"\r?\n[ \t]*", " ", str(value)).strip()
        if "=?" in line or not line.isascii():
            # Some services re-encode encoded words (RFC 2047) wrongly. Keep only what follows the last one.
            line = line.rpartition("?=")[2].strip()
        if line:
            headers[name] = line
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
        headers=headers,
    )


def _content(mail: EmailMessage, kind: str) -> str:
    body = mail.get_body((kind,))
    return str(body.get_content()).replace("\r\n", "\n") if body else ""
