import re
from collections.abc import Mapping, Sequence
from typing import Any

from anymail.message import AnymailMessage

from channels.email.esp.http import Parts
from channels.email.esp.message_form import PLACEHOLDER, Form, disarmed, metadata
from channels.email.esp.services import MailService, Style

MAX_TAG = 50


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
    form: Form,
    data: Mapping[str, dict[str, str]],
) -> AnymailMessage:
    mail = _mail(several, service, host, subject=form.subject, text=form.text, html=form.html)
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
