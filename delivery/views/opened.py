"""A kept message, taken apart for a page."""

from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage


@dataclass(frozen=True, slots=True)
class Opened:
    """Headers in their order; html and text as their parts say, empty where there is none."""

    headers: tuple[tuple[str, str], ...]
    html: str
    text: str


def opened(raw: bytes) -> Opened:
    """Never raises for what a message holds: it shows what can be read."""
    message: EmailMessage = message_from_bytes(raw, policy=policy.default)
    headers = tuple((name, str(value)) for name, value in message.items())
    return Opened(headers=headers, html=_part(message, "html"), text=_part(message, "plain"))


def _part(message: EmailMessage, sort: str) -> str:
    part = message.get_body(preferencelist=(sort,))
    if part is None:
        return ""
    try:
        return str(part.get_content())
    except (LookupError, ValueError, KeyError):
        return bytes(part.get_payload(decode=True) or b"").decode("utf-8", "replace")
