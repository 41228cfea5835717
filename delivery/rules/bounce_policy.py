from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from channels.rules.meaning import Concern
from channels.rules.server_words import meaning

# Soft bounces (mailbox full, host away) on this many days suppress an address.
SOFT_BOUNCE_DAYS = 3
SOFT_WINDOW = timedelta(days=30)
# For monthly newsletters: so do this many letters in a row over at least this time.
SOFT_LETTERS = 3
SOFT_LETTERS_LEAST = timedelta(days=14)
# Large providers have answered 5.1.1 for valid addresses for hours. From this many hard bounces of a domain
# within an hour, and this share of its answers, none counts until a person has looked.
FLOOD_LEAST = 10
FLOOD_SHARE = 0.1
FLOOD_WINDOW = timedelta(hours=1)
# At most; the share is of the domain's last letters.
FLOOD_LETTERS = 1000
# RFC 3464 §2.3.3.
_ARRIVED = frozenset({"delivered", "relayed", "expanded", "deliverable"})
# Words of SendGrid and Postfix. An empty one counts as failed.
_FAILED = frozenset({"failed", "", "expired", "undeliverable"})
# RFC 5965 §7.3, with “opt-out” of its drafts. Some services omit the type.
_COMPLAINTS = frozenset({"", "abuse", "fraud", "opt-out", "opt-out-list"})
HELD = "Held for you: too many of this domain bounced within the hour."
NOTHING_ARRIVES = "Nothing arrives at this address."
LET_BE = "Ignored by hand."
ABOUT_OUR_MAIL = "Recorded only: it is about our email, not about the address."


class BounceKind(StrEnum):
    """Meaning of a report about a recipient, most important first."""

    COMPLAINT = "complaint"
    HARD = "hard"
    SOFT = "soft"
    POLICY = "policy"
    DELAYED = "delayed"
    UNKNOWN = "unknown"
    AUTO_REPLY = "auto_reply"
    ARRIVED = "arrived"


_BY_CONCERN = {
    Concern.ADDRESS: BounceKind.HARD,
    Concern.MAILBOX: BounceKind.SOFT,
    Concern.US: BounceKind.POLICY,
    Concern.LETTER: BounceKind.POLICY,
    # The sending host has given up. The address may work tomorrow.
    Concern.NOBODY: BounceKind.SOFT,
}


def kind_of(*, action: str, status: str, diagnostic: str) -> BounceKind:
    """Classify a delivery status notification. An empty action counts as failed."""
    action = action.lower()
    if action in _ARRIVED:
        return BounceKind.ARRIVED
    if action == "delayed":
        return BounceKind.DELAYED
    if action not in _FAILED:
        return BounceKind.UNKNOWN
    return _BY_CONCERN[meaning(diagnostic, status=status).concern]


def feedback_kind(feedback_type: str) -> BounceKind:
    """Classify a feedback report (RFC 5965).

    "not-spam": the reader took the letter out of spam. "virus", "auth-failure" etc. say nothing about the
    reader.
    """
    feedback_type = feedback_type.strip().lower()
    if feedback_type in _COMPLAINTS:
        return BounceKind.COMPLAINT
    return BounceKind.AUTO_REPLY if feedback_type == "not-spam" else BounceKind.UNKNOWN


def is_no_such_address(status: str, said: str) -> bool:
    return meaning(said, status=status).concern is Concern.ADDRESS


class Act(StrEnum):
    SUPPRESS = "suppress"
    HOLD = "hold"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class History:
    """The ledger's facts. Counts include the report itself.

    `soft_row`: how long the last SOFT_LETTERS letters bounced softly, if all did. `confirmed_since`: the
    reader confirmed after that letter. `known`: handled already. `domain_answered`: answered letters of the
    domain's last; `domain_hard`: hard bounces within FLOOD_WINDOW. `domain_held`: a person has to decide.
    """

    soft_days: frozenset[date] = frozenset()
    soft_row: timedelta | None = None
    confirmed_since: bool = False
    known: bool = False
    domain_hard: int = 0
    domain_answered: int = 0
    domain_held: bool = False


def act(kind: BounceKind, history: History) -> tuple[Act, str]:
    """Return what to do, and a sentence about it."""
    if kind is BounceKind.COMPLAINT:
        return Act.SUPPRESS, "Marked as spam by the subscriber."
    if kind not in (BounceKind.HARD, BounceKind.SOFT):
        return Act.RECORD, _RECORDED.get(kind, "Recorded only.")
    if history.confirmed_since:
        return Act.RECORD, "Recorded only: the subscriber has confirmed since that email."
    if kind is BounceKind.SOFT:
        days, row = len(history.soft_days), history.soft_row
        if days >= SOFT_BOUNCE_DAYS:
            return Act.SUPPRESS, f"Bounced on {days} days within {SOFT_WINDOW.days}."
        if row is not None and row >= SOFT_LETTERS_LEAST:
            return Act.SUPPRESS, f"The last {SOFT_LETTERS} emails bounced, over {row.days} days."
        return Act.RECORD, f"Recorded: day {days} of {SOFT_BOUNCE_DAYS} within {SOFT_WINDOW.days} days."
    if history.known:
        return Act.RECORD, "Recorded only: this bounce was known already."
    if history.domain_held or is_flood(history.domain_hard, history.domain_answered):
        return Act.HOLD, HELD
    return Act.SUPPRESS, NOTHING_ARRIVES


_RECORDED = {
    BounceKind.POLICY: ABOUT_OUR_MAIL,
    BounceKind.DELAYED: "Recorded only: the server keeps trying.",
    BounceKind.UNKNOWN: "Recorded only: its meaning is unknown.",
}


def is_flood(hard: int, answered: int) -> bool:
    return hard >= FLOOD_LEAST and hard > answered * FLOOD_SHARE


def worst_kind(kinds: Iterable[BounceKind]) -> BounceKind:
    order = list(BounceKind)
    return min(kinds, key=order.index, default=BounceKind.UNKNOWN)


def mildest(kinds: Iterable[BounceKind]) -> BounceKind:
    order = list(BounceKind)
    return max(kinds, key=order.index, default=BounceKind.UNKNOWN)
