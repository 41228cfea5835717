"""What Amazon SES tells of a letter by a mail of SNS: JSON in the text. Pure.

https://docs.aws.amazon.com/ses/latest/dg/notification-contents.html
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from email.message import Message
from typing import Any

from delivery.bounces.fields import typed
from delivery.bounces.finding import MAX_FINDINGS, Finding, clean, finding
from delivery.bounces.mail_parts import addresses
from delivery.rules.bounce_policy import BounceKind
from delivery.rules.meaning import Meaning
from delivery.rules.server_words import meaning

_KINDS = {"permanent": BounceKind.HARD}
# Transient, and about the letter.
_OF_LETTER = frozenset({"messagetoolarge", "contentrejected", "attachmentrejected"})


def told_by_sns(message: Message, text: str) -> tuple[Finding, ...]:
    """What it says of each recipient; empty for any other mail."""
    if not any(address.endswith(".amazonaws.com") for address in addresses(message, "from")):
        return ()
    notice = _notice(text)
    kind = str(notice.get("notificationType") or notice.get("eventType") or "").lower()
    found = tuple(_findings(kind, _mapping(notice.get(kind))))
    return found[:MAX_FINDINGS]


def _findings(kind: str, told: Mapping[str, Any]) -> Iterator[Finding]:
    if kind == "complaint":
        said = clean(f"{told.get('complaintFeedbackType') or 'abuse'}: Amazon SES")
        for one in _list(told.get("complainedRecipients")):
            yield Finding(BounceKind.COMPLAINT, _address(one), "", said)
    elif kind == "bounce":
        for one in _list(told.get("bouncedRecipients")):
            yield _bounce(told, _mapping(one))
    elif kind == "delivery":
        for address in _list(told.get("recipients")):
            yield Finding(BounceKind.ARRIVED, (str(address)[:320],))


def _bounce(told: Mapping[str, Any], recipient: Mapping[str, Any]) -> Finding:
    said = typed(str(recipient.get("diagnosticCode") or ""))
    status = str(recipient.get("status") or "")
    found = finding(_address(recipient), said, status=status)
    if meaning(said, status=status) is not Meaning.UNCLEAR:
        return found
    if str(told.get("bounceSubType")).lower() in _OF_LETTER:
        return replace(found, kind=BounceKind.POLICY)
    return replace(found, kind=_KINDS.get(str(told.get("bounceType")).lower(), BounceKind.SOFT))


def _notice(text: str) -> Mapping[str, Any]:
    """The first JSON object in the text, or the one that it holds as text."""
    # SNS breaks long lines wherever it likes, and puts a space after the break.
    found = _object(re.sub(r"\r?\n ?", "", text))
    return _object(str(found["Message"])) if "Message" in found else found


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
