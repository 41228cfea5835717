"""Delivery reports in no standard format. Pure.

flufl.bounce knows some. Others are read up to the letter's copy: addresses, and words about each. People's
mails are not read.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from functools import cached_property

from channels.rules.meaning import Meaning
from channels.rules.server_words import MOST_SERVER_WORDS, meaning
from common.text import one_line
from delivery.bounces.fields import MAX_ADDRESS, MAX_FINDINGS, BounceFinding, finding_in_words
from delivery.bounces.mail_parts import addresses, copy_recipients, decoded_field, text_of
from delivery.bounces.replies import is_daemon, is_unanswerable, sender
from delivery.rules.bounce_policy import BounceKind

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
    text = text_of(message)
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
