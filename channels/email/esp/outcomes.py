"""Outcomes per recipient, request and lane."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from channels.base import Ambiguous, Outcome, Permanent, Sent, Temporary
from channels.email.esp.settings import EspSettings
from common.text import one_line, shortened
from feeds.rules.pace import retry_at

MAX_SERVICE_WORDS = 300
_TELLING = ("message", "errormessage", "error", "detail", "description", "title", "errors", "messages")
# Sender, plan or credit: the next letter would be refused too.
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
# The account or the API address is wrong.
_OUR_SETTINGS = (402, 404, 405, 407, 410)
# By boto3 before it sends anything.
_BEFORE_SENDING = frozenset(
    {"EndpointConnectionError", "ConnectTimeoutError", "SSLError", "ParamValidationError"}
)
# Postmark's code for a suppressed address.
_INACTIVE = 406


@dataclass(frozen=True, slots=True)
class ServiceRefused:
    """`outcome` is for a single recipient."""

    outcome: Outcome


def of_status(status: str, message_id: object, name: str, words: str = "") -> Outcome:
    said = f": {words}" if words else "."
    if status in ("sent", "queued") or (status == "unknown" and message_id):
        # Unknown with an id: the request was accepted; webhooks report the rest.
        return Sent(remote_id=str(message_id or "")[:255])
    if status == "unknown":
        return Ambiguous(f"{name} didn’t report what happened to this email.")
    if status == "invalid":
        return Permanent(f"{name} reports that this address is invalid{said}", disables=True)
    if status == "rejected":
        return Permanent(
            f"{name} doesn’t send to this address because it’s on the service’s suppression list{said}"
        )
    return judged(f"{name} couldn’t send to this address{said}", words)


def of_error(
    status: int, words: str, headers: Mapping[str, str], name: str, now: datetime
) -> Outcome | ServiceRefused:
    said = f"{name} answered {status}" + (f": {words}" if words else ".")
    if status in _WRONG_KEY:
        return Temporary(
            f"{said} Enter a key that is allowed to send (“Email set-up”, or EMAIL_URL).", stops_lane=True
        )
    if status == 429 or status >= 500 or status == 408:
        return Temporary(said, retry_at(headers.get("Retry-After", ""), now), stops_lane=True)
    if status < 400 or status in _OUR_SETTINGS:
        return Temporary(f"{said} Check the account (“Email set-up”, or EMAIL_URL).", stops_lane=True)
    if status == _TOO_LARGE:
        return ServiceRefused(Permanent(said))
    outcome = judged(said, words)
    return outcome if isinstance(outcome, Temporary) and outcome.stops_lane else ServiceRefused(outcome)


def judged(said: str, words: str) -> Outcome:
    if _RECIPIENT.search(words) and not _SENDER.search(words):
        return Permanent(said)
    return Temporary(said, stops_lane=bool(_SENDER.search(words) or _ACCOUNT.search(words)))


def words_of_answer(answer: Any) -> str:
    """Extract messages for people."""
    found: dict[str, None] = {}
    _collect(answer, found, told=False)
    return shortened(one_line("; ".join(found)), MAX_SERVICE_WORDS)


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
    """Return the list with one item per message, if any, or the answer about a single message."""
    lists = [answer, *(answer.values() if isinstance(answer, dict) else ())]
    single = [answer] if count == 1 and isinstance(answer, dict) else []
    return next((one for one in lists if isinstance(one, list) and len(one) == count), single)


def of_statuses(mail: Any, addresses: Sequence[str], target: EspSettings) -> list[Outcome]:
    answer = _json(mail.anymail_status.esp_response)
    items = items_of(answer, len(addresses))
    known = {address.lower(): status for address, status in mail.anymail_status.recipients.items()}
    return [
        _of_one(known.get(address.lower()), items[number] if items else None, target)
        for number, address in enumerate(addresses)
    ]


def of_api_error(
    error: Any, addresses: Sequence[str], target: EspSettings, now: datetime
) -> list[Outcome] | ServiceRefused:
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        # boto3's response, for Amazon SES.
        said, metadata = response.get("Error", {}), response.get("ResponseMetadata", {})
        words = target.without_secrets(f"{said.get('Code', '')}: {said.get('Message', '')}"[:300])
        named = {"Retry-After": metadata.get("HTTPHeaders", {}).get("retry-after", "")}
        status = int(metadata.get("HTTPStatusCode", 500))
        return _everywhere(of_error(status, words, named, target.name, now), addresses)
    name = target.name
    if response is None:
        if type(error.__cause__).__name__ in _BEFORE_SENDING:
            outcome: Outcome = Temporary(
                f"Nothing was sent because {name} can’t be reached.", stops_lane=True
            )
        else:
            outcome = Ambiguous(f"The request to {name} was sent, but its result is unknown.")
        return [outcome] * len(addresses)
    answer = _json(response)
    taken = 200 <= response.status_code < 300
    items = items_of(answer, len(addresses))
    if taken and items and all(isinstance(item, Mapping) and "ErrorCode" in item for item in items):
        return [_of_one(None, item, target) for item in items]
    if taken:
        return [Ambiguous(f"{name} accepted the request, but its response can’t be read.")] * len(addresses)
    words = words_of_answer(answer)
    if not words and "html" not in response.headers.get("Content-Type", ""):
        words = words_of_answer({"message": response.text[:1000]})
    words = target.without_secrets(words)
    return _everywhere(of_error(response.status_code, words, response.headers, name, now), addresses)


def _of_one(status: Any, item: Any, target: EspSettings) -> Outcome:
    name, words = target.name, target.without_secrets(words_of_answer(item)) if item is not None else ""
    code = item.get("ErrorCode") if isinstance(item, Mapping) else None
    if status is None or status.status == "unknown":
        if code == _INACTIVE:
            return of_status("rejected", None, name, words)
        if code:
            return judged(f"{name} refused this email: {words}", words)
    if status is not None:
        return of_status(status.status or "unknown", status.message_id, name, words)
    if code == 0:
        return Sent(remote_id=str(item.get("MessageID", ""))[:255])
    return Ambiguous(f"{name} didn’t report what happened to this email.")


def _everywhere(
    outcome: Outcome | ServiceRefused, addresses: Sequence[str]
) -> list[Outcome] | ServiceRefused:
    return outcome if isinstance(outcome, ServiceRefused) else [outcome] * len(addresses)


def _json(response: Any) -> Any:
    try:
        return response.json()
    except (AttributeError, ValueError):
        return None
