"""Parse returned mail: delivery reports, complaints, automatic replies. Pure.

RFC 3464 (delivery status), RFC 6533 (internationalized), RFC 5965 (complaints), RFC 3834 (automatic replies),
and reports in no standard format.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from email import message_from_bytes
from email.message import Message
from typing import Any

from channels.rules.meaning import Meaning
from channels.rules.server_words import meaning, precise
from channels.rules.verp import Token, tokens
from delivery.bounces.fields import (
    MAX_ADDRESS,
    MAX_FINDINGS,
    Block,
    BounceFinding,
    address_in,
    blocks,
    blocks_in_text,
    clean,
    finding_in_words,
    typed,
)
from delivery.bounces.mail_parts import (
    MAX_MAIL_TEXT,
    addresses,
    copy_recipients,
    decoded_field,
    enclosed,
    parts_of_type,
    raw_field,
    text_of,
)
from delivery.bounces.nonstandard import ReportText, before_copy, failures
from delivery.bounces.replies import is_auto_reply, is_daemon
from delivery.bounces.service_events import inner, name, ses_event, text, verdict_of
from delivery.rules.bounce_policy import BounceKind, feedback_kind, worst_kind

SES = "Amazon SES"


# Lists of recipients by type.
_RECIPIENTS = {"bounce": "bouncedRecipients", "complaint": "complainedRecipients"}


def findings_of_sns(message: Message, said: str) -> tuple[BounceFinding, ...]:
    """Return findings of an Amazon SNS notice; empty for other mail."""
    if not any(address.endswith(".amazonaws.com") for address in addresses(message, "from")):
        return ()
    # SNS breaks lines anywhere and adds a space.
    notice = _object(re.sub(r"\r?\n ?", "", said))
    # The notice may be nested as text.
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


# Added by Microsoft's Junk Mail Reporting Program.
_JMRP = "x-hmxmroriginalrecipient"


def complaints(message: Message) -> tuple[BounceFinding, ...]:
    """Return a finding per complaint; empty for other mail."""
    for part in parts_of_type(message, "message/feedback-report"):
        for block in blocks(part):
            feedback_type = block.first("feedback-type").strip().lower()
            if not feedback_type:
                continue
            kind = feedback_kind(feedback_type)
            if kind is BounceKind.COMPLAINT:
                whom = [address_in(value) for value in block.all("original-rcpt-to")]
                said = f"{feedback_type}: {block.first('user-agent')}"
                return _complaints_of(whom or copy_recipients(message), said)
            return (BounceFinding(kind),)
    for letter in enclosed(message):
        if reader := raw_field(letter, _JMRP):
            return _complaints_of([address_in(reader)], "abuse: Junk Mail Reporting Program")
    return ()


def _complaints_of(whom: list[str], said: str) -> tuple[BounceFinding, ...]:
    known = list(dict.fromkeys(address for address in whom if "@" in address))[:MAX_FINDINGS]
    return tuple(BounceFinding(BounceKind.COMPLAINT, (address,), "", clean(said)) for address in known) or (
        BounceFinding(BounceKind.COMPLAINT, (), "", clean(said)),
    )


MAX_MAIL_BYTES = 2_000_000
MAX_PARTS = 100
MAX_TYPE = 5_000
MAX_BOUNDARIES = 2_000
# Most addresses from a report's text, besides its fields.
MOST_NAMED = 5


class Unreadable(ValueError):
    """Too deeply nested, or no mail."""


@dataclass(frozen=True, slots=True)
class Mark:
    """Our Message-ID: <mark.delivery@domain>."""

    delivery_id: int
    mark: str


@dataclass(frozen=True, slots=True)
class BounceReport:
    """Returned mail. `tokens` and `marks` name letters, unproven; `words` is its text."""

    kind: BounceKind
    findings: tuple[BounceFinding, ...]
    tokens: tuple[Token, ...]
    marks: tuple[Mark, ...]
    words: str = ""


def read_report(raw: bytes) -> BounceReport:
    """Parse the first MAX_MAIL_BYTES. Raises only Unreadable."""
    raw = raw[:MAX_MAIL_BYTES]
    try:
        # Python's parser checks all open parts for each line, and searches parameters repeatedly.
        pattern = rb"^content-type[ \t]*:[^\n]*(?:\n[ \t][^\n]*)*"
        types = re.findall(pattern, raw, re.IGNORECASE | re.MULTILINE)
        if len(types) > MAX_PARTS:
            raise Unreadable(f"It has more than {MAX_PARTS} parts.")
        if any(len(one) > MAX_TYPE for one in types):
            raise Unreadable(f"It has a Content-Type of more than {MAX_TYPE:,} characters.")
        if len(re.findall(rb"^--", raw, re.MULTILINE)) > MAX_BOUNDARIES:
            raise Unreadable(f"It has more than {MAX_BOUNDARIES:,} lines that may divide parts.")
        message = message_from_bytes(raw)
        if not message.keys():
            raise Unreadable("It has no header, so it isn’t an email.")
        text = text_of(message)
        words = clean(f"{decoded_field(message, 'subject')} — {text}")
        findings = _statuses(message, text) or complaints(message) or findings_of_sns(message, text)
        if not findings and is_auto_reply(message):
            findings = (BounceFinding(BounceKind.AUTO_REPLY),)
        elif not findings:
            loose = message if len(raw) <= MAX_MAIL_TEXT else message_from_bytes(raw[:MAX_MAIL_TEXT])
            findings = failures(loose)
    except Unreadable:
        raise
    except Exception as error:  # parser and flufl.bounce expect friendly input
        raise Unreadable(f"It can’t be read as an email ({type(error).__name__}).") from error
    kind = worst_kind(finding.kind for finding in findings)
    return BounceReport(kind, findings, tokens(raw), marks(raw), words)


def report_digest(raw: bytes, about: int | None = None) -> str:
    """Return a digest of a report about a delivery, without headers that mail hosts add."""
    head, _, body = raw[:MAX_MAIL_BYTES].replace(b"\r\n", b"\n").partition(b"\n\n")
    identity = re.search(rb"^message-id:[ \t]*(.{1,900})", head, re.IGNORECASE | re.MULTILINE)
    known = hashlib.sha256(identity[1].strip() if identity else b"")
    known.update(b"\0%d\0" % (about or 0) + body.rstrip())
    return known.hexdigest()


def marks(raw: bytes) -> tuple[Mark, ...]:
    """Return up to ten Message-IDs that look like ours."""
    found = re.findall(rb"<([0-9a-f]{32})\.([1-9][0-9]{0,17})@[^<>\s]{1,255}>", raw)
    return tuple(dict.fromkeys(Mark(int(number), mark.decode("ascii")) for mark, number in found))[:10]


# --- delivery status notifications


def _statuses(message: Message, text: str) -> tuple[BounceFinding, ...]:
    said = ReportText(before_copy(text))
    kinds = ("message/delivery-status", "message/global-delivery-status")
    groups = [
        group for part in parts_of_type(message, *kinds) for group in blocks(part) if _names_recipient(group)
    ]
    if not groups and is_daemon(message):
        groups = [group for group in blocks_in_text(said.text) if _names_recipient(group)]
    found = []
    for group in groups[:MAX_FINDINGS]:
        diagnostic = typed(group.first("diagnostic-code"))
        status = group.first("status")
        named = [address_in(group.first(name)) for name in ("original-recipient", "final-recipient")]
        # Required by RFC 3464 §2.3.3. Without it, a valid status decides.
        action = group.first("action").strip()
        one = finding_in_words(named, diagnostic, action=action, status=status)
        if one.kind is BounceKind.SOFT and meaning(diagnostic, status=status) is Meaning.UNCLEAR:
            # Some hosts write the server's words only for people.
            words = said.about(one.addresses[0] if one.addresses else "")
            told = finding_in_words(named, words, action=action)
            one = told if meaning(told.diagnostic) is not Meaning.UNCLEAR else one
        found.append(one)
    if len(found) == 1:
        # These may name only an alias or pipe.
        ours = addresses(message, "to", "from")
        own = [address for address in said.addresses if address.lower() not in ours][:MOST_NAMED]
        found = [replace(found[0], addresses=tuple(dict.fromkeys((*found[0].addresses, *own))))]
    return tuple(found)


def _names_recipient(block: Block) -> bool:
    return bool(block.all("final-recipient") or block.all("original-recipient"))
