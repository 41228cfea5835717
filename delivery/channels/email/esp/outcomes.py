"""From what anymail gives back, or raises, to the outcomes of a request's recipients."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from delivery.channels.base import Ambiguous, Outcome, Sent, Temporary
from delivery.channels.email.esp.answers import Refused, items_of, judged, of_error, of_status, words_of
from delivery.channels.email.esp.settings import EspSettings

# What boto3 raises before it has sent anything.
_BEFORE_SENDING = frozenset(
    {"EndpointConnectionError", "ConnectTimeoutError", "SSLError", "ParamValidationError"}
)
# Postmark's for an address that it does not write to.
_INACTIVE = 406


def of_statuses(mail: Any, addresses: Sequence[str], target: EspSettings) -> list[Outcome]:
    """Of a request that was taken, at least in part."""
    answer = _json(mail.anymail_status.esp_response)
    items = _items(answer, len(addresses))
    known = {address.lower(): status for address, status in mail.anymail_status.recipients.items()}
    return [
        _of_one(known.get(address.lower()), items[number] if items else None, target)
        for number, address in enumerate(addresses)
    ]


def of_api_error(
    error: Any, addresses: Sequence[str], target: EspSettings, now: datetime
) -> list[Outcome] | Refused:
    """Of a request that anymail thinks has failed."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):
        return _everywhere(_of_boto(response, target, now), addresses)
    if response is None:
        return [_unknown(error, target)] * len(addresses)
    answer, name = _json(response), target.name
    taken = 200 <= response.status_code < 300
    items = _items(answer, len(addresses))
    if taken and items and all(isinstance(item, Mapping) and "ErrorCode" in item for item in items):
        return [_of_one(None, item, target) for item in items]
    if taken:
        said = f"{name} took the request, but its answer cannot be understood."
        return [Ambiguous(said)] * len(addresses)
    words = target.without_secrets(words_of(answer) or _text(response))
    return _everywhere(of_error(response.status_code, words, response.headers, name, now), addresses)


def _of_one(status: Any, item: Any, target: EspSettings) -> Outcome:
    name, words = target.name, target.without_secrets(words_of(item)) if item is not None else ""
    code = item.get("ErrorCode") if isinstance(item, Mapping) else None
    if status is None or status.status == "unknown":
        if code == _INACTIVE:
            return of_status("rejected", None, name, words)
        if code:
            return judged(f"{name} refused this letter: {words}", words)
    if status is not None:
        return of_status(status.status or "unknown", status.message_id, name, words)
    if code == 0:
        return Sent(remote_id=str(item.get("MessageID", ""))[:255])
    return Ambiguous(f"{name} did not say what became of this letter.")


def _of_boto(response: Mapping[str, Any], target: EspSettings, now: datetime) -> Outcome | Refused:
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 500))
    error = response.get("Error", {})
    words = target.without_secrets(f"{error.get('Code', '')}: {error.get('Message', '')}"[:300])
    headers = response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    named = {"Retry-After": headers.get("retry-after", "")}
    return of_error(status, words, named, target.name, now)


def _unknown(error: BaseException, target: EspSettings) -> Outcome:
    if type(error.__cause__).__name__ in _BEFORE_SENDING:
        return Temporary(f"Nothing was sent: {target.name} cannot be reached.", stops_lane=True)
    return Ambiguous(f"The request to {target.name} went out, and nobody knows what became of it.")


def _everywhere(outcome: Outcome | Refused, addresses: Sequence[str]) -> list[Outcome] | Refused:
    return outcome if isinstance(outcome, Refused) else [outcome] * len(addresses)


def _items(answer: Any, count: int) -> list[Any]:
    return items_of(answer, count) or ([answer] if count == 1 and isinstance(answer, dict) else [])


def _json(response: Any) -> Any:
    try:
        return response.json()
    except (AttributeError, ValueError):
        return None


def _text(response: Any) -> str:
    kind = response.headers.get("Content-Type", "")
    return words_of({"message": response.text[:1000]}) if "html" not in kind else ""
