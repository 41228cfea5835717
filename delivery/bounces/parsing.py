"""Parse returned mail: delivery reports, complaints, automatic replies. Pure.

RFC 3464 (delivery status), RFC 6533 (internationalized), RFC 5965 (complaints), RFC 3834 (automatic replies),
and reports in no standard format. flufl.bounce knows some; others are read up to the letter's copy:
addresses, and words about each. People's mails are not read.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email import message_from_bytes
from email.message import Message
from functools import cached_property
from typing import Any

from channels.rules.meaning import Meaning
from channels.rules.server_words import MOST_SERVER_WORDS, meaning, precise
from channels.rules.verp import Token, tokens
from common.mail.parts import (
    MAX_MAIL_TEXT,
    Unreadable,
    addresses,
    copy_recipients,
    decoded_field,
    enclosed,
    message_text,
    parsed_mail,
    parts_of_type,
    raw_field,
)
from common.mail.replies import is_auto_reply, is_daemon, is_unanswerable, sender
from common.text import one_line
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
from delivery.bounces.service_events import inner, name_at, ses_event, text, verdict_of
from delivery.rules.bounce_policy import BounceKind, feedback_kind, worst_kind

SES = "Amazon SES"
# Lists of recipients by type.
_RECIPIENTS = {"bounce": "bouncedRecipients", "complaint": "complainedRecipients"}
MOST_REPORT_LINES = 2_000
LONGEST_LINE = 1_000
# Lines after an address that may be about it.
_NEXT_LINES = 4

# Not people, but they send any mail.
_OFFICE = re.compile(
    r"post_?master|(?:no|do-?not)-?_?reply|sysadmin|administrator|.{1,60}-(?:admin|request|owner)",
    re.IGNORECASE,
)
_SUBJECT = re.compile(
    r"\W*(?:undeliver|(?:mail )?delivery (?:status|failure|failed|has|notification|report)|failure notice"
    r"|returned (?:e?-?mail|to sender)"
    r"|(?:e?-?mail|message) (?:delivery )?(?:fail|not delivered|system error|error)"
    r"|non-?delivery|warning: (?:message|could not)|unzustellbar|nicht zustellbar"
    r"|error sending|there was an error sending)",
    re.IGNORECASE,
)
_FORWARDED = re.compile(
    r"\W*(?:re|aw|sv|vs|antw|odp|r|fwd?|wg|tr|rv|i|enc|doorst|vl|转发|回复|答复|転送)\s*:", re.IGNORECASE
)
# Only delivery reports have such lines.
_REPORTS = re.compile(
    r"^[ \t]*(?:could not be delivered to|was not delivered to|you are not a member of this mailing list"
    r"|an error (?:has )?occurred while trying to deliver|delivery to the following|error message below"
    r"|(?:>>>|sent <<<) rcpt to:)",
    re.IGNORECASE | re.MULTILINE,
)
_DELAYED = re.compile(
    r"warning message only|(?:will be|being) retried|(?:has been|is) delayed|not yet been delivered"
    r"|still (?:trying|undelivered)|will (?:continue|keep) (?:to try|trying)",
    re.IGNORECASE,
)
# Start of the letter's copy: words, or a field.
_COPY = re.compile(
    r"^[ \t>]{0,20}(?:[-=_*#]{1,80}[ \t]{0,4})?(?:"
    r"(?:the )?(?:original|returned|unsent) (?:e-?)?(?:mail|message)"
    r"(?: (?:info|as follows|follows|headers?|text|body))?[ \t]{0,4}:?[ \t]{0,4}[-=_*#]{0,80}[ \t]*$"
    r"|below (?:this line )?is a copy|this is a copy of|message headers follow|"
    r"content-type: ?(?:message/rfc822|text/rfc822-headers))"
    r"|^(?:received|return-path|dkim-signature|delivered-to)[ \t]?:",
    re.IGNORECASE | re.MULTILINE,
)
_ADDRESS = re.compile(r"""[^\s<>()\[\]"',;:=|\\]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,10}""")
_TO = re.compile(r"^[ \t>]{0,20}to:[ \t]{0,4}([^\r\n]{1,500})", re.IGNORECASE | re.MULTILINE)
# An address after these is no recipient.
_OTHERS = re.compile(
    r"contact|assist|support|postmaster|sender|\bfrom\b|reply-to|return-path|message-?id|for help|https?:"
    r"|references",
    re.IGNORECASE,
)
# Added by Microsoft's Junk Mail Reporting Program.
_JMRP = "x-hmxmroriginalrecipient"
MAX_MAIL_BYTES = 2_000_000
MAX_PARTS = 100
# Most addresses from a report's text, besides its fields.
MOST_RECIPIENTS_NAMED = 5


def findings_of_sns(message: Message, said: str) -> tuple[BounceFinding, ...]:
    """Return findings of an Amazon SNS notice; empty for other mail."""
    if not any(address.endswith(".amazonaws.com") for address in addresses(message, "from")):
        return ()
    # SNS breaks lines anywhere and adds a space.
    notice = _object(re.sub(r"\r?\n ?", "", said))
    # The notice may be nested as text.
    notice = _object(str(notice["Message"])) if "Message" in notice else notice
    type_ = name_at(notice, "eventType") or name_at(notice, "notificationType")
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
    named: list[tuple[str, ...]] = [(address,) for address in known] or [()]
    return tuple(BounceFinding(BounceKind.COMPLAINT, addresses, "", clean(said)) for addresses in named)


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
        message = parsed_mail(raw, most_parts=MAX_PARTS)
        if not message.keys():
            raise Unreadable("It has no header, so it isn’t an email.")
        text = message_text(message)
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
        named = [address_in(group.first(name_at)) for name_at in ("original-recipient", "final-recipient")]
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
        own = [address for address in said.addresses if address.lower() not in ours][:MOST_RECIPIENTS_NAMED]
        found = [replace(found[0], addresses=tuple(dict.fromkeys((*found[0].addresses, *own))))]
    return tuple(found)


def _names_recipient(block: Block) -> bool:
    return bool(block.all("final-recipient") or block.all("original-recipient"))


@dataclass(frozen=True)
class ReportText:
    """Report without the letter's copy."""

    text: str

    @cached_property
    def lines(self) -> list[str]:
        lines = (line[:LONGEST_LINE] for line in self.text.splitlines()[:MOST_REPORT_LINES])
        return [line for line in lines if line.strip()]

    @cached_property
    def addresses(self) -> list[str]:
        """Return up to MAX_FINDINGS addresses, except contacts."""
        found: dict[str, None] = {}
        for line in self.lines:
            if "@" in line and len(found) < MAX_FINDINGS:
                at = _OTHERS.search(line)
                found |= dict.fromkeys(_addresses(line[: at.start() if at else LONGEST_LINE]))
        return list(found)[:MAX_FINDINGS]

    def about(self, address: str) -> str:
        """Return lines that name this recipient, and those after them that name no other.

        Return all words if these are unclear and nobody else is named.
        """
        about: list[str] = []
        left = 0
        for line in self.lines:
            if address.lower() in line.lower():
                left = _NEXT_LINES + 1
            elif left and "@" in line and _ADDRESS.search(line):
                left = 0
            if left:
                about.append(line)
                left -= 1
        near = " ".join(about)[:MOST_SERVER_WORDS]
        others = any(one.lower() != address.lower() for one in self.addresses)
        return near if others or meaning(near) is not Meaning.UNCLEAR else self.text[:MOST_SERVER_WORDS]


def failures(message: Message) -> tuple[BounceFinding, ...]:
    """Return a finding per recipient; empty if it reports nothing."""
    text = message_text(message)
    said = ReportText(before_copy(text))
    is_report = _is_report(message, said.text)
    # flufl.bounce reads reports that people quote or attach.
    is_forwarded = _FORWARDED.match(decoded_field(message, "subject"))
    by_flufl: dict[str, BounceKind] = {}
    if (is_report or not is_forwarded) and "from" in message:  # flufl.bounce needs From
        # Its many patterns are compiled then.
        from flufl.bounce import all_failures

        delayed, failed = all_failures(message)
        by_flufl |= {_address_of_flufl(address): BounceKind.DELAYED for address in sorted(delayed)}
        by_flufl |= {_address_of_flufl(address): BounceKind.SOFT for address in sorted(failed)}
    if not by_flufl and not is_report:
        return ()
    ours = addresses(message, "to", "cc", "delivered-to", "from", "reply-to", "return-path")
    own = [address for address in said.addresses if address.lower() not in ours]
    named = list(dict.fromkeys([*by_flufl, *own]))[:MAX_FINDINGS] or copy_recipients(message, without=ours)
    if not named and (match := _TO.search(text[len(said.text) :])):
        named = [address for address in _addresses(match[1]) if address.lower() not in ours]
    if not named:
        return (finding_in_words((), said.text),) if meaning(said.text) is not Meaning.UNCLEAR else ()
    if _DELAYED.search(said.text) or BounceKind.DELAYED in by_flufl.values():
        return tuple(finding_in_words((address,), said.text, action="delayed") for address in named)
    findings = [finding_in_words((address,), said.about(address)) for address in named]
    # Leave out unclear recipients, unless all are.
    clear = [one for one in findings if meaning(one.diagnostic) is not Meaning.UNCLEAR]
    return tuple(clear or findings)


def before_copy(text: str) -> str:
    found = _COPY.search(text)
    return text[: found.start()] if found else text


def _addresses(line: str) -> Iterator[str]:
    return (match[0].strip(".")[:MAX_ADDRESS] for match in _ADDRESS.finditer(line))


def _is_report(message: Message, said: str) -> bool:
    """Return whether a mail host wrote it. If not sure, subject or words must show it."""
    is_report = message.get_param("report-type") == "delivery-status"
    if is_daemon(message) or is_report or "x-failed-recipients" in message:
        return True
    if not (_SUBJECT.match(decoded_field(message, "subject")) or _REPORTS.search(said)):
        return False
    is_clear = meaning(said) is not Meaning.UNCLEAR
    return bool(_OFFICE.fullmatch(sender(message))) or (is_clear and is_unanswerable(message))


def _address_of_flufl(address: bytes | str) -> str:
    text = address.decode("utf-8", "replace") if isinstance(address, bytes) else address
    return one_line(text)[:MAX_ADDRESS]
