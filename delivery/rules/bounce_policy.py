"""What a report about a letter means, and what follows from it for the address."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

# Soft bounces (mailbox full, host away for days) on so many different days within so long suppress.
SOFT_BOUNCE_DAYS = 3
SOFT_WINDOW = timedelta(days=30)
# Large providers have answered 5.1.1 for valid addresses for hours: with so many hard bounces of a domain
# within the hour, and more than this share of what it answered, none of them counts until a person looked.
FLOOD_LEAST = 10
FLOOD_SHARE = 0.1
FLOOD_WINDOW = timedelta(hours=1)
# The share is taken of the domain's last letters, so many at most.
FLOOD_LETTERS = 1000


class Kind(StrEnum):
    """What a report says of one recipient, from what concerns us most to what does least."""

    COMPLAINT = "complaint"
    HARD = "hard"
    SOFT = "soft"
    POLICY = "policy"
    DELAYED = "delayed"
    UNKNOWN = "unknown"
    AUTO_REPLY = "auto_reply"
    ARRIVED = "arrived"


# RFC 3464 §2.3.3.
_ARRIVED = frozenset({"delivered", "relayed", "expanded"})
# RFC 3463 §3.2 and RFC 7505 §4.2: the address is wrong, or is none. 5.1.7 and 5.1.8 are about the sender.
_NO_SUCH_ADDRESS = frozenset({"5.1.0", "5.1.1", "5.1.2", "5.1.3", "5.1.4", "5.1.6", "5.1.10"})
# About us or this letter (RFC 3463 §3.7 and §3.8, and too large): says nothing of the address.
_ABOUT_US = re.compile(r"5\.[67]\.[0-9]+|5\.1\.[78]|5\.2\.3|5\.3\.4")
# Some servers use the vague ones for a sender that they do not like.
_VAGUE = frozenset({"5.1.0", "5.1.4"})
_OF_SENDER = re.compile(r"\bsender\b|\bfrom\b", re.IGNORECASE)
_CODE = re.compile(r"(?<![0-9.])([245]\.[0-9]{1,3}\.[0-9]{1,3})(?![0-9]|\.[0-9])")

_FULL = re.compile(
    r"\bquota\b|\bfull\b|over ?(?:the )?limit|insufficient (?:disk|storage|space)|too quickly", re.IGNORECASE
)
_REFUSED = re.compile(
    r"\bspam|block(?:ed|list)|black ?list|\bDMARC|\bSPF\b|\bDKIM|reputation|policy|unsolicited", re.IGNORECASE
)
_NOBODY = re.compile(
    r"(?:user|mailbox|recipient|account|address)\b.{0,40}\b"
    r"(?:unknown|not found|does(?: not|n't) exist|unavailable|disabled|inactive|invalid|no longer)"
    r"|(?:unknown|no such|invalid|nonexistent) (?:local )?(?:user|mailbox|recipient|account|address|person)",
    re.IGNORECASE,
)


def kind_of(*, action: str, status: str, diagnostic: str) -> Kind:
    """A recipient's fields of a delivery status notification. An empty action counts as failed."""
    action = action.lower()
    if action in _ARRIVED:
        return Kind.ARRIVED
    if action == "delayed":
        return Kind.DELAYED
    if action not in ("failed", ""):
        return Kind.UNKNOWN
    return _of_failure(precise(status, diagnostic), diagnostic)


def precise(status: str, diagnostic: str) -> str:
    """The enhanced code; the one in the server's words where the status itself says only “failed”."""
    match = _CODE.match(status.strip())
    own = match[1] if match else ""
    if own and not own.endswith(".0.0"):
        return own
    said = _CODE.search(diagnostic)
    return said[1] if said else own


def _of_failure(status: str, diagnostic: str) -> Kind:
    if status in _NO_SUCH_ADDRESS:
        return Kind.HARD
    if _ABOUT_US.fullmatch(status):
        return Kind.POLICY
    # 4.x.x: the sending host has given up. The address may be fine tomorrow.
    if status.startswith("4.") or status == "5.2.2" or _FULL.search(diagnostic):
        return Kind.SOFT
    if _REFUSED.search(diagnostic):
        return Kind.POLICY
    return Kind.HARD if _NOBODY.search(diagnostic) else Kind.SOFT


def is_no_such_address(status: str, said: str) -> bool:
    """Whether a server's own refusal of a recipient says that there is no such address.

    By its code alone: words without one are too often about us.
    """
    return status in _NO_SUCH_ADDRESS and not (status in _VAGUE and _OF_SENDER.search(said))


class Act(StrEnum):
    SUPPRESS = "suppress"
    HOLD = "hold"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class History:
    """What the ledger knows beside the report. The counts include the report itself.

    `confirmed_since`: the reader has confirmed after that letter went out. `known`: that this letter bounced
    has been dealt with. `domain_hard` and `domain_answered`: of the domain's last letters, those that bounced
    hard within FLOOD_WINDOW, and all that had an answer. `domain_held`: a person is asked about the domain.
    """

    soft_days: frozenset[date] = frozenset()
    confirmed_since: bool = False
    known: bool = False
    domain_hard: int = 0
    domain_answered: int = 0
    domain_held: bool = False


def act(kind: Kind, history: History) -> tuple[Act, str]:
    """What to do, and the sentence about it for people."""
    if kind is Kind.COMPLAINT:
        return Act.SUPPRESS, "Marked as spam by the reader."
    if kind not in (Kind.HARD, Kind.SOFT):
        return Act.RECORD, _RECORDED.get(kind, "Recorded only.")
    if history.confirmed_since:
        return Act.RECORD, "Recorded only: the reader has confirmed since that letter."
    if kind is Kind.SOFT:
        return _soft(len(history.soft_days))
    if history.known:
        return Act.RECORD, "Recorded only: it was known already that this letter came back."
    if history.domain_held or is_flood(history.domain_hard, history.domain_answered):
        return Act.HOLD, HELD
    return Act.SUPPRESS, NOTHING_ARRIVES


HELD = "Held for you: too many of this domain bounced within the hour."
NOTHING_ARRIVES = "Nothing arrives at this address."
LET_BE = "Let be by hand."
ABOUT_OUR_MAIL = "Recorded only: it says something about our mail, not about the address."
_RECORDED = {
    Kind.POLICY: ABOUT_OUR_MAIL,
    Kind.DELAYED: "Recorded only: the server goes on trying.",
    Kind.UNKNOWN: "Recorded only: no program could say what it means.",
}


def _soft(days: int) -> tuple[Act, str]:
    if days >= SOFT_BOUNCE_DAYS:
        return Act.SUPPRESS, f"Bounced on {days} days within {SOFT_WINDOW.days}."
    return Act.RECORD, f"Recorded: day {days} of {SOFT_BOUNCE_DAYS} within {SOFT_WINDOW.days} days."


def is_flood(hard: int, answered: int) -> bool:
    """Whether a domain's hard bounces are more than single addresses can explain."""
    return hard >= FLOOD_LEAST and hard > answered * FLOOD_SHARE


def worst(kinds: Iterable[Kind]) -> Kind:
    """The one that concerns us most; UNKNOWN of none."""
    order = list(Kind)
    return min(kinds, key=order.index, default=Kind.UNKNOWN)


def mildest(kinds: Iterable[Kind]) -> Kind:
    """The one that concerns us least; UNKNOWN of none."""
    order = list(Kind)
    return max(kinds, key=order.index, default=Kind.UNKNOWN)
