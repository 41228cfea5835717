"""Reads the mails in which SNS tells what Amazon SES knows of a letter: JSON in the text. Pure.

https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
"""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from email.message import Message
from typing import Any

from delivery.bounces.fields import typed
from delivery.bounces.finding import MAX_ADDRESS, MAX_FINDINGS, BounceFinding, clean, finding_in_words
from delivery.bounces.mail_parts import addresses
from delivery.rules.bounce_policy import BounceKind
from delivery.rules.meaning import Meaning
from delivery.rules.server_words import meaning

# SES calls these transient, but they are about the letter.
_OF_LETTER = frozenset({"messagetoolarge", "contentrejected", "attachmentrejected"})


def told_by_sns(message: Message, text: str) -> tuple[BounceFinding, ...]:
    """A finding for each recipient; empty for any other mail."""
    if not any(address.endswith(".amazonaws.com") for address in addresses(message, "from")):
        return ()
    # SNS breaks long lines wherever it likes, and puts a space after the break.
    notice = _object(re.sub(r"\r?\n ?", "", text))
    # The notice may stand as text within an envelope.
    notice = _object(str(notice["Message"])) if "Message" in notice else notice
    kind = str(notice.get("notificationType") or notice.get("eventType") or "").lower()
    told = _mapping(notice.get(kind))
    found: list[BounceFinding] = []
    if kind == "complaint":
        said = clean(f"{told.get('complaintFeedbackType') or 'abuse'}: Amazon SES")
        for one in _list(told.get("complainedRecipients")):
            found.append(BounceFinding(BounceKind.COMPLAINT, _address(one), "", said))
    elif kind == "bounce":
        for one in map(_mapping, _list(told.get("bouncedRecipients"))):
            said, status = typed(str(one.get("diagnosticCode") or "")), str(one.get("status") or "")
            finding = finding_in_words(_address(one), said, status=status)
            if meaning(said, status=status) is Meaning.UNCLEAR:
                is_permanent = str(told.get("bounceType")).lower() == "permanent"
                is_of_letter = str(told.get("bounceSubType")).lower() in _OF_LETTER
                by_ses = BounceKind.HARD if is_permanent else BounceKind.SOFT
                finding = replace(finding, kind=BounceKind.POLICY if is_of_letter else by_ses)
            found.append(finding)
    elif kind == "delivery":
        for address in _list(told.get("recipients")):
            found.append(BounceFinding(BounceKind.ARRIVED, (str(address)[:MAX_ADDRESS],)))
    return tuple(found[:MAX_FINDINGS])


def _object(text: str) -> Mapping[str, Any]:
    try:
        return _mapping(json.JSONDecoder(strict=False).raw_decode(text, text.find("{"))[0])
    except (ValueError, RecursionError):
        return {}


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _address(recipient: object) -> tuple[str, ...]:
    return (str(_mapping(recipient).get("emailAddress") or ""),)
