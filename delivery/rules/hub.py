"""Requests and pushes of our hub (https://www.w3.org/TR/websub/). Pure."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode, urlsplit, urlunsplit

from common.backoff import delay
from common.refused import Refused

SHORTEST_LEASE, USUAL_LEASE, LONGEST_LEASE = timedelta(days=1), timedelta(days=10), timedelta(days=30)
LONGEST_CALLBACK, LONGEST_SECRET = 1000, 199
SUBSCRIBE, UNSUBSCRIBE = "subscribe", "unsubscribe"
MOST_PUSHES = 8
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class HubRequest:
    mode: str
    topic: str
    callback: str
    lease: timedelta
    secret: str


def hub_request(form: Mapping[str, str]) -> HubRequest:
    """Read hub.mode and others (§5.1). Raises Refused."""
    mode, topic, callback, seconds, secret = (
        form.get(f"hub.{name}", "") for name in ("mode", "topic", "callback", "lease_seconds", "secret")
    )
    if mode not in (SUBSCRIBE, UNSUBSCRIBE):
        raise Refused("hub.mode must be subscribe or unsubscribe.")
    if len(callback) > LONGEST_CALLBACK or not callback.isascii() or "#" in callback:
        raise Refused(f"hub.callback must be an ASCII address of at most {LONGEST_CALLBACK} characters.")
    if len(secret.encode()) > LONGEST_SECRET:
        raise Refused("hub.secret must be shorter than 200 bytes.")
    asked = timedelta(seconds=int(seconds)) if seconds.isdecimal() and len(seconds) < 10 else USUAL_LEASE
    return HubRequest(mode, topic, callback, min(max(asked, SHORTEST_LEASE), LONGEST_LEASE), secret)


def verification_url(callback: str, parameters: Mapping[str, str]) -> str:
    """Append to the callback's own query (§5.3)."""
    parts = urlsplit(callback)
    query = urlencode({f"hub.{name}": value for name, value in parameters.items()})
    return urlunsplit(parts._replace(query=f"{parts.query}&{query}".lstrip("&")))


def push_headers(*, hub: str, topic: str, secret: str = "", body: bytes = b"") -> dict[str, str]:
    """Sign with the secret, if any (§7.1)."""
    links = {"Link": f'<{hub}>; rel="hub", <{topic}>; rel="self"'}
    digest = hmac.digest(secret.encode(), body, "sha256").hex()
    return {**links, "X-Hub-Signature": f"sha256={digest}"} if secret else links


def next_push(failures: int, now: datetime) -> datetime | None:
    if failures >= MOST_PUSHES:
        return None
    return now + delay(failures, first=FIRST_PAUSE, limit=LONGEST_PAUSE)
