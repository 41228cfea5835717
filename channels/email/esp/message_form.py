"""Form letters for ESPs: a list of whole messages, or one text with merge fields.

A placeholder has two merge fields: its token with h (escaped, for html) and with t (for text and subject).
Text of a post that looks like a merge field is escaped.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from anymail.message import AnymailMessage

from channels.email.esp.http import Parts
from channels.email.esp.services import MailService, Style
from channels.placeholders import written_html, written_text
from common.signing import is_stamp, stamp

# Postmark allows 20 characters for a name and 80 for a value; ours has at most 49.
METADATA_NAME = "feedletter"
METADATA_PURPOSE = "esp"
OPENING = "opening"
# Anymail copies it for each recipient.
PLACEHOLDER = "-"
MAX_TAG = 50


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


def form(
    service: MailService, tokens: Iterable[str], *, subject: str, html: str, text: str
) -> dict[str, str]:
    """Return the arguments with merge fields."""
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
    return {"subject": subject, "html": html, "text": text}


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


def single_mail(parts: Parts, service: MailService, host: str) -> AnymailMessage:
    html = disarmed(parts.html, service)
    mail = _mail((parts,), service, host, subject=parts.subject, text=parts.text, html=html)
    mail.extra_headers = dict(parts.headers)
    if service.metadata:
        mail.metadata = metadata(parts.delivery_id)
    return mail


def listed_mail(several: Sequence[Parts], service: MailService, host: str) -> AnymailMessage:
    """Their texts are inserted when the request is sent."""
    first = several[0]
    has_html, has_text = (PLACEHOLDER if text else "" for text in (first.html, first.text))
    mail = _mail(several, service, host, subject=PLACEHOLDER, text=has_text, html=has_html)
    mail.feedletter_parts = tuple(several)
    mail.merge_headers = {parts.address: dict(parts.headers) for parts in several}
    return mail


def merged_mail(
    several: Sequence[Parts],
    service: MailService,
    host: str,
    *,
    data: Mapping[str, dict[str, str]],
    **form: str,
) -> AnymailMessage:
    mail = _mail(several, service, host, **form)
    mail.merge_data = dict(data)
    common = set.intersection(*(set(parts.headers.items()) for parts in several))
    mail.extra_headers = {
        name: value for name, value in several[0].headers.items() if (name, value) in common
    }
    mail.merge_headers = {
        parts.address: {name: value for name, value in parts.headers.items() if (name, value) not in common}
        for parts in several
    }
    return mail


def _mail(
    several: Sequence[Parts], service: MailService, host: str, *, subject: str, text: str, html: str
) -> Any:
    first = several[0]
    mail = AnymailMessage(
        subject=subject,
        body=text,
        from_email=first.sender,
        to=[parts.to for parts in several],
        reply_to=[first.reply_to] if first.reply_to else None,
    )
    if html:
        mail.attach_alternative(html, "text/html")
    # From List-Id (RFC 2919), which mails without a newsletter lack.
    found = re.search(r"<([^<>]+)>\s*$", first.headers.get("List-Id", ""))
    if found and (name := found[1].removesuffix(f".{host}")):
        mail.tags = [name[:MAX_TAG]]
    if service.untracked:
        mail.track_opens = mail.track_clicks = False
    if service.style is not Style.SINGLE and len(several) > 1:
        # With any of these, even empty, anymail sends separate messages.
        mail.merge_data = {}
        mail.merge_metadata = {parts.address: metadata(parts.delivery_id) for parts in several}
    return mail
