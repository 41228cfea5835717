"""Reads the mails in which SNS tells what Amazon SES knows of a letter: JSON in the text. Pure.

https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
"""

import json
import re
from collections.abc import Mapping
from email.message import Message
from typing import Any

from channels.rules.server_words import precise
from delivery.bounces.finding import MAX_ADDRESS, MAX_FINDINGS, BounceFinding, clean
from delivery.bounces.mail_parts import addresses
from delivery.bounces.service_events import inner, name, ses_event, text, verdict_of
from delivery.rules.bounce_policy import BounceKind

SES = "Amazon SES"
# Where each type of notice names the recipients that it is about.
_RECIPIENTS = {"bounce": "bouncedRecipients", "complaint": "complainedRecipients"}


def findings_of_sns(message: Message, said: str) -> tuple[BounceFinding, ...]:
    """Return a finding for each recipient; empty for any other mail."""
    if not any(address.endswith(".amazonaws.com") for address in addresses(message, "from")):
        return ()
    # SNS breaks long lines anywhere, and puts a space after the break.
    notice = _object(re.sub(r"\r?\n ?", "", said))
    # The notice may be text within an envelope.
    notice = _object(str(notice["Message"])) if "Message" in notice else notice
    type_ = name(notice, "eventType") or name(notice, "notificationType")
    if type_ == "delivery":
        arrived = inner(notice, type_, "recipients")
        known = [str(address)[:MAX_ADDRESS] for address in arrived] if isinstance(arrived, list) else []
        return tuple(BounceFinding(BounceKind.ARRIVED, (address,)) for address in known[:MAX_FINDINGS])
    recipients = inner(notice, type_, _RECIPIENTS.get(type_, ""))
    if not isinstance(recipients, list):
        sent_to = inner(notice, "mail", "destination")
        recipients = [{"emailAddress": one} for one in sent_to] if isinstance(sent_to, list) else []
    findings = (_finding(notice, one) for one in recipients[:MAX_FINDINGS])
    return tuple(finding for finding in findings if finding is not None)


def _finding(notice: Mapping[str, Any], recipient: object) -> BounceFinding | None:
    about = recipient if isinstance(recipient, dict) else {}
    facts = ses_event(notice, about)
    verdict = verdict_of(SES, facts)
    if verdict is None or verdict.kind is None:
        return None
    address = text(about, "emailAddress")[:MAX_ADDRESS]
    words = facts.words or f"{facts.feedback or facts.reasons[0].strip('/') or facts.type}: {SES}"
    return BounceFinding(verdict.kind, (address,), precise(facts.status, facts.words)[:16], clean(words))


def _object(value: str) -> Mapping[str, Any]:
    try:
        read = json.JSONDecoder(strict=False).raw_decode(value, value.find("{"))[0]
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
