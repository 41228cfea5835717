"""Complaints: reports of RFC 5965, and Hotmail's, which keep to no standard. Pure."""

from email.message import Message

from delivery.bounces.fields import address_in, blocks
from delivery.bounces.finding import MAX_FINDINGS, Finding, clean
from delivery.bounces.mail_parts import addresses, enclosed, field, parts
from delivery.rules.bounce_policy import BounceKind

# RFC 5965 §7.3. “not-spam” is the opposite, “virus” and “other” are no wish of the reader.
_COMPLAINTS = frozenset({"abuse", "fraud", "opt-out", "opt-out-list"})
# Microsoft's Junk Mail Reporting Program puts it into the letter that it sends back.
_JMRP = "x-hmxmroriginalrecipient"


def complaints(message: Message) -> tuple[Finding, ...]:
    """What it says of each reader who complained; empty for any other mail."""
    for part in parts(message, "message/feedback-report"):
        for block in blocks(part):
            kind = block.first("feedback-type").strip().lower()
            if kind in _COMPLAINTS:
                whom = [address_in(value) for value in block.all("original-rcpt-to")]
                return _of(whom or _copied_to(message), f"{kind}: {block.first('user-agent')}")
            if kind:
                return (Finding(BounceKind.AUTO_REPLY if kind == "not-spam" else BounceKind.UNKNOWN),)
    for letter in enclosed(message):
        if reader := field(letter, _JMRP):
            return _of([address_in(reader)], "abuse: Junk Mail Reporting Program")
    return ()


def _of(whom: list[str], said: str) -> tuple[Finding, ...]:
    known = list(dict.fromkeys(address for address in whom if "@" in address))[:MAX_FINDINGS]
    return tuple(Finding(BounceKind.COMPLAINT, (address,), "", clean(said)) for address in known) or (
        Finding(BounceKind.COMPLAINT, (), "", clean(said)),
    )


def _copied_to(message: Message) -> list[str]:
    """Whom the letter was for, by the copy of it."""
    return next((found for letter in enclosed(message) if (found := addresses(letter, "to"))), [])
