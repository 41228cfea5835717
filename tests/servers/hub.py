"""WebSub hub on loopback: accepts subscriptions, verifies them in the background, and pushes.

with Hub() as hub:
... the subscriber posts to hub.url ...
hub.settle()                        # all verifications are done
hub.push(topic, body)               # → the subscribers' response statuses

Attributes make the next request misbehave: `status` (of the response to a request), `denies` (a reason),
`silent` (never verifies), `at_once` (verifies before it responds).
"""

import hmac
import threading
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.servers.feed_server import FeedServer, Reply, Request

SECONDS = 20
CHALLENGE = "challenge-<b>&\u00e9"


@dataclass(frozen=True, slots=True)
class Answer:
    """Response of a subscriber's callback."""

    status: int
    body: bytes
    headers: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Subscriber:
    """Verified subscription."""

    callback: str
    topic: str
    secret: str


class Hub:
    """WebSub hub. `lease` is the granted time in seconds; None leaves it out."""

    def __init__(self) -> None:
        self.server = FeedServer()
        self.url = self.server.answer("/hub", self._asked)
        self.lease: int | None = 864_000
        self.status, self.text, self.headers = 202, "", dict[str, str]()
        self.denies, self.silent, self.at_once = "", False, False
        self.asked: list[dict[str, str]] = []
        self.verifications: list[Answer] = []
        self.subscribers: dict[tuple[str, str], Subscriber] = {}
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        self.server.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.settle()
        self.server.stop()

    def settle(self) -> None:
        """Wait until all verifications are done."""
        while self._threads:
            self._threads.pop().join(SECONDS)

    def modes(self) -> list[str]:
        """Return the requested modes, in order."""
        return [asked["hub.mode"] for asked in self.asked]

    def _asked(self, request: Request) -> Reply:
        form = {
            name: values[0] for name, values in parse_qs(request.body.decode(), strict_parsing=True).items()
        }
        self.asked.append(form)
        if 200 <= self.status < 300 and not self.silent:
            thread = threading.Thread(target=self._decide, args=(form, self.denies), daemon=True)
            thread.start()
            if self.at_once:
                thread.join(SECONDS)
            else:
                self._threads.append(thread)
        return Reply(self.text.encode(), self.status, {"Content-Type": "text/plain", **self.headers})

    def _decide(self, form: dict[str, str], reason: str) -> None:
        if reason:
            self.deny(form["hub.callback"], form["hub.topic"], reason)
        elif self.verify(form["hub.callback"], form["hub.mode"], form["hub.topic"]):
            key = (form["hub.callback"], form["hub.topic"])
            if form["hub.mode"] == "subscribe":
                self.subscribers[key] = Subscriber(*key, form.get("hub.secret", ""))
            else:
                self.subscribers.pop(key, None)

    def verify(self, callback: str, mode: str, topic: str, challenge: str = CHALLENGE) -> bool:
        """Verify the intent of the subscriber (WebSub §5.3); return whether it agrees."""
        said = {"hub.mode": mode, "hub.topic": topic, "hub.challenge": challenge}
        if self.lease is not None and mode == "subscribe":
            said["hub.lease_seconds"] = str(self.lease)
        answer = call(f"{callback}?{urlencode(said)}")
        self.verifications.append(answer)
        return 200 <= answer.status < 300 and answer.body == challenge.encode()

    def deny(self, callback: str, topic: str, reason: str) -> Answer:
        """Send the subscriber a denial (WebSub §5.2)."""
        said = {"hub.mode": "denied", "hub.topic": topic, "hub.reason": reason}
        answer = call(f"{callback}?{urlencode(said)}")
        self.verifications.append(answer)
        return answer

    def push(
        self,
        topic: str,
        body: bytes,
        *,
        content_type: str = "application/rss+xml",
        method: str = "sha256",
        secret: str | None = None,
    ) -> list[int]:
        """Push content to the verified subscribers of a topic. Another `secret` forges the signature."""
        every = [one for one in list(self.subscribers.values()) if one.topic == topic]
        return [
            distribute(
                one.callback,
                body,
                {
                    "Content-Type": content_type,
                    "Link": f'<{self.url}>; rel="hub", <{topic}>; rel="self"',
                    "X-Hub-Signature": signature(body, one.secret if secret is None else secret, method),
                },
            ).status
            for one in every
        ]


def signature(body: bytes, secret: str, method: str = "sha256") -> str:
    return f"{method}={hmac.new(secret.encode(), body, method).hexdigest()}"


def distribute(callback: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    """Send one push unchanged."""
    return call(callback, body, headers)


def call(url: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Answer:
    """Return the response, whatever its status; status 0 if there was none."""
    assert urlsplit(url).scheme == "http"
    request = urllib.request.Request(url, data=body, headers=dict(headers or {}))
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return Answer(answer.status, answer.read(), dict(answer.headers))
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, error.read(), dict(error.headers))
    except OSError:
        return Answer(0, b"", {})
