"""What a service's answer means: for each recipient, for the request as a whole, and for the lane. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from common.text import one_line, shortened
from delivery.channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from feeds.rules.pace import retry_at

MAX_WORDS = 300
_TELLING = ("message", "errormessage", "error", "detail", "description", "title", "errors", "messages")
# About us: the sender, the plan, the credit. The next letter would hear the same.
_SENDER = re.compile(r"\bfrom\b|\bsender|reply.?to|\bdomain\b.{0,40}\bverif|not verified", re.IGNORECASE)
_ACCOUNT = re.compile(
    r"signature|credit|quota|limit\b|\bplan\b|account|subscription|payment|approv|activat|suspend|billing|permission|api.?key|unauthori[sz]ed|token",
    re.IGNORECASE,
)
_RECIPIENT = re.compile(
    r"\b(?:to|recipient|address|e-?mail|mailbox)\b.{0,60}\b(?:invalid|not (?:a )?valid|pars|illegal|missing)"
    r"|(?:invalid|illegal|error parsing|not (?:a )?valid|inactive)\b.{0,40}"
    r"\b(?:to|recipients?|address(?:es)?|e-?mail)\b",
    re.IGNORECASE,
)
_WRONG_KEY = (401, 403)
_TOO_LARGE = 413
# Not found, not allowed, not paid for: the account or the address of the API.
_OUR_SETTINGS = (402, 404, 405, 407, 410)


@dataclass(frozen=True, slots=True)
class Refused:
    """The whole request was refused, and one recipient may be the cause. `outcome`: if it had only one."""

    outcome: Outcome


def of_status(status: str, message_id: object, name: str, words: str = "") -> Outcome:
    """The outcome of one recipient, from anymail's status."""
    said = f": {words}" if words else "."
    if status in ("sent", "queued") or (status == "unknown" and message_id):
        # Unknown, but with an id: the request was taken, and its webhooks will tell.
        return Sent(remote_id=str(message_id or "")[:255])
    if status == "unknown":
        return Ambiguous(f"{name} did not say what became of this letter.")
    if status == "invalid":
        return Permanent(f"{name} says that this is no address{said}", disables=True)
    if status == "rejected":
        return Permanent(f"{name} sends nothing to this address: it is on its own suppression list{said}")
    return judged(f"{name} could not send to this address{said}", words)


def of_error(
    status: int, words: str, headers: Mapping[str, str], name: str, now: datetime
) -> Outcome | Refused:
    """The outcome of a request that was answered with an error."""
    said = f"{name} answered {status}" + (f": {words}" if words else ".")
    if status in _WRONG_KEY:
        return Temporary(f"{said} Put a key that may send into EMAIL_URL.", stops_lane=True)
    if status == 429 or status >= 500 or status == 408:
        return Temporary(said, retry_at(headers.get("Retry-After", ""), now), stops_lane=True)
    if status < 400 or status in _OUR_SETTINGS:
        return Temporary(f"{said} Check EMAIL_URL.", stops_lane=True)
    if status == _TOO_LARGE:
        return Refused(Permanent(said))
    outcome = judged(said, words)
    return outcome if isinstance(outcome, Temporary) and outcome.stops_lane else Refused(outcome)


def judged(said: str, words: str) -> Outcome:
    """A refusal in the service's words: of the recipient, of us, or of who knows what."""
    if _RECIPIENT.search(words) and not _SENDER.search(words):
        return Permanent(said)
    return Temporary(said, stops_lane=bool(_SENDER.search(words) or _ACCOUNT.search(words)))


def words_of(answer: Any) -> str:
    """What an answer (JSON, parsed) says to people, in one line."""
    found: dict[str, None] = {}
    _collect(answer, found, told=False)
    return shortened(one_line("; ".join(found)), MAX_WORDS)


def _collect(value: Any, found: dict[str, None], *, told: bool) -> None:
    if len(found) > 5:
        return
    if isinstance(value, str) and told:
        found[value.strip()] = None
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            _collect(inner, found, told=str(name).lower() in _TELLING)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for inner in value[:5]:
            _collect(inner, found, told=told)


def items_of(answer: Any, count: int) -> list[Any]:
    """The part of an answer about each of `count` messages, where it has one for each."""
    lists = [answer, *(answer.values() if isinstance(answer, dict) else ())]
    return next((one for one in lists if isinstance(one, list) and len(one) == count), [])
