"""Complaints: reports of RFC 5965, and Hotmail's, which keep to no standard. Pure."""

from email.message import Message

from delivery.bounces.fields import address_in, blocks
from delivery.bounces.finding import MAX_FINDINGS, BounceFinding, clean
from delivery.bounces.mail_parts import copy_recipients, enclosed, parts_of_type, raw_field
from delivery.rules.bounce_policy import BounceKind, feedback_kind

# Microsoft's Junk Mail Reporting Program puts it into the letter that it sends back.
_JMRP = "x-hmxmroriginalrecipient"


def complaints(message: Message) -> tuple[BounceFinding, ...]:
    """A finding for each reader who complained; empty for any other mail."""
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
