"""Form letters for ESPs: a list of whole messages, or one text with merge fields.

A placeholder has two merge fields: its token with h (escaped, for html) and with t (for text and subject).
Text of a post that looks like a merge field is escaped.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from channels.email.esp.http import Parts
from channels.email.esp.services import MailService
from channels.placeholders import written_html, written_text
from common.signing import is_stamp, stamp

# Postmark allows 20 characters for a name and 80 for a value; ours has at most 49.
METADATA_NAME = "feedletter"
METADATA_PURPOSE = "esp"
OPENING = "opening"
# Anymail copies it for each recipient.
PLACEHOLDER = "-"


def metadata(delivery_id: int) -> dict[str, str]:
    text = f"{delivery_id:x}"
    return {METADATA_NAME: f"{text}-{stamp(METADATA_PURPOSE, text)}"}


def delivery_of(told: Mapping[str, object]) -> int | None:
    """Return the delivery, or None without a valid signature."""
    text, _, given = str(told.get(METADATA_NAME, ""))[:100].partition("-")
    try:
        number = int(text, 16)
    except ValueError:
        return None
    return number if 0 < number < 2**63 and is_stamp(METADATA_PURPOSE, f"{number:x}", given) else None


@dataclass(frozen=True, slots=True)
class Form:
    subject: str
    html: str
    text: str


def form(service: MailService, tokens: Iterable[str], *, subject: str, html: str, text: str) -> Form:
    tokens = tuple(tokens)
    html = disarmed(html, service, tokens)
    if service.opens:
        opening = service.merge_field.format(OPENING)
        subject, text = (_opens(service, tokens).sub(opening, part) for part in (subject, text))
    for token in tokens:
        subject, text = (
            part.replace(token, service.merge_field.format(f"{token}t")) for part in (subject, text)
        )
        html = html.replace(token, service.merge_field.format(f"{token}h"))
    return Form(subject, html, text)


def data(service: MailService, placeholders: Mapping[str, str], values: Mapping[str, str]) -> dict[str, str]:
    """`placeholders`: field → token, `values`: field → text."""
    filled = {OPENING: service.opening} if service.opens else {}
    for name, token in placeholders.items():
        value = values.get(name, "")
        filled[f"{token}t"], filled[f"{token}h"] = written_text(value), written_html(value)
    return filled


def disarmed(html: str, service: MailService, tokens: tuple[str, ...] = ()) -> str:
    """Escape foreign merge fields."""
    if not service.opens:
        return html
    return _opens(service, tokens).sub(lambda match: f"&#{ord(match[0])};", html)


def _opens(service: MailService, tokens: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(service.opens.replace("TOKEN", "|".join(map(re.escape, tokens)) or "(?!)"))


class Filling:
    """Mixin for anymail backends, with messages of `feedletter_parts`."""

    feedletter_service: MailService

    def build_message_payload(self, message: Any, defaults: Any) -> Any:
        payload = super().build_message_payload(message, defaults)  # type: ignore[misc]
        own: Sequence[Parts] = getattr(message, "feedletter_parts", ())
        if own:
            anymails = payload.serialize_data
            payload.serialize_data = lambda: filled(anymails(), own, self.feedletter_service)
        return payload


def filled(request: str, own: Sequence[Parts], service: MailService) -> str:
    layout = service.layout
    assert layout is not None  # noqa: S101 - for the type checker
    whole = json.loads(request)
    messages = whole[layout.messages] if layout.messages else whole
    for message, parts in zip(messages, own, strict=True):
        texts = {
            layout.subject: parts.subject,
            layout.html: disarmed(parts.html, service),
            layout.text: parts.text,
        }
        message.update({name: text for name, text in texts.items() if text})
    return json.dumps(whole)
