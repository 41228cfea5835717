"""Discord's side of interactions, with its rules for applications.

Answers have a limit of three seconds. An interaction's token is valid for 15 minutes, once the application
has answered.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from demo.answer import ApiAnswer, ApiRequest
from demo.discord.limits import (
    AUTOCOMPLETE,
    FORM,
    LATER,
    LATER_UPDATE,
    MESSAGE,
    UPDATE,
    InvalidBody,
    refuse_answer,
    refuse_message,
)
from demo.discord.payloads import Body

ANSWER_SECONDS = 3.0
TOKEN_LIVES = timedelta(minutes=15)
EPHEMERAL = 1 << 6
MOST_EXCHANGES = 200
PING, PONG = b'{"type":1}', {"type": 1}
UNKNOWN_WEBHOOK = ApiAnswer({"message": "Unknown Webhook", "code": 10015}, 404)
UNKNOWN_MESSAGE = ApiAnswer({"message": "Unknown Message", "code": 10008}, 404)
EXPIRED = ApiAnswer({"message": "Invalid Webhook Token", "code": 50027}, 401)

# Posts a body with headers; returns status and body of the response. Raises OSError.
Deliver = Callable[[str, bytes, Mapping[str, str]], tuple[int, bytes]]


class NoAnswer(Exception):
    """“The application did not respond”, with the reason."""


@dataclass(frozen=True, slots=True)
class Application:
    id: str
    key: Ed25519PrivateKey = field(repr=False)
    bot_token: str = field(repr=False)

    @property
    def public_key(self) -> str:
        return self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def signed(self, body: bytes, timestamp: str) -> str:
        return self.key.sign(timestamp.encode() + body).hex()

    def headers(self, body: bytes, timestamp: str) -> dict[str, str]:
        return {
            "X-Signature-Ed25519": self.signed(body, timestamp),
            "X-Signature-Timestamp": timestamp,
            "Content-Type": "application/json",
        }


@dataclass
class Exchange:
    """An interaction and its messages; `edit` replaces the message with the used button."""

    number: str
    token: str
    payload: Body
    sent_at: datetime
    edit: Callable[[Body], object] | None = None
    answer: Body = field(default_factory=dict)
    message: Body | None = None
    follow_ups: list[Body] = field(default_factory=list)
    failure: str = ""

    @property
    def form(self) -> Body | None:
        return self.answer.get("data") if self.answer.get("type") == FORM else None

    @property
    def waits(self) -> bool:
        """Whether “is thinking …” is shown."""
        return self.answer.get("type") in (LATER, LATER_UPDATE) and self.message is None

    @property
    def is_ephemeral(self) -> bool:
        return bool((self.answer.get("data") or {}).get("flags", 0) & EPHEMERAL)

    def shows(self, body: Body) -> None:
        self.message = body
        if self.edit is not None and self.answer.get("type") in (UPDATE, LATER_UPDATE):
            self.edit(body)


class Interactions:
    """Thread-safe."""

    def __init__(self, application: Application, deliver: Deliver, clock: Callable[[], datetime]) -> None:
        self.application, self.deliver, self.clock = application, deliver, clock
        # Set by the application.
        self.endpoint = ""
        # By token, oldest first.
        self.exchanges: dict[str, Exchange] = {}
        # Violations of Discord's rules.
        self.faults: list[str] = []
        self._lock = threading.Lock()
        self._last = 0

    def send(
        self, payload: Mapping[str, Any], *, number: str = "", edit: Callable[[Body], object] | None = None
    ) -> Exchange:
        """Send an interaction to the application. Raises NoAnswer."""
        exchange = self._begun(payload, number, edit)
        began = time.monotonic()
        try:
            body = json.dumps(exchange.payload).encode()
            status, text = self.deliver(self.endpoint, body, self._headers(body))
            if time.monotonic() - began > ANSWER_SECONDS:
                raise NoAnswer("It took longer than three seconds.")
            if status != 200:
                raise NoAnswer(f"It answered with {status}.")
            answer = json.loads(text)
            refuse_answer(payload["type"], answer)
        except (OSError, ValueError, LookupError, TypeError) as error:
            self.faults += [f"{error}"] if isinstance(error, InvalidBody) else []
            exchange.failure = str(error)
            raise NoAnswer(exchange.failure) from error
        except NoAnswer as error:
            exchange.failure = str(error)
            raise
        exchange.answer = answer
        if answer["type"] in (MESSAGE, UPDATE):
            exchange.shows(answer["data"])
        return exchange

    def wrong_with(self, url: str) -> str:
        """Return why Discord would reject an endpoint, or "".

        It must accept a ping and refuse one with a wrong signature.
        """
        good = self._headers(PING)
        try:
            status, _ = self.deliver(url, PING, {**good, "X-Signature-Ed25519": "00" * 64})
            if status != 401:
                return f"a ping that is signed badly was answered with {status}, not 401"
            status, text = self.deliver(url, PING, good)
        except OSError as error:
            return str(error)
        return "" if (status, json.loads(text or b"null")) == (200, PONG) else "a ping was not answered"

    def tell(self, url: str, event: Mapping[str, Any]) -> int:
        """Send another event and return the status. Raises OSError."""
        body = json.dumps(event).encode()
        return self.deliver(url, body, self._headers(body))[0]

    def webhook(self, request: ApiRequest, rest: str) -> ApiAnswer:
        """Handle a request with an interaction's token; `rest` follows the application's id."""
        token, _, place = rest.partition("/")
        exchange = self.exchanges.get(token)
        # The token is invalid before the answer.
        if exchange is None or not exchange.answer or exchange.answer["type"] == FORM:
            return UNKNOWN_WEBHOOK
        if self.clock() - exchange.sent_at > TOKEN_LIVES:
            return EXPIRED
        if place not in ("", "messages/@original"):
            return UNKNOWN_MESSAGE
        if request.method == "GET":
            return ApiAnswer(exchange.message) if exchange.message is not None else UNKNOWN_MESSAGE
        if (request.method, place) not in (("POST", ""), ("PATCH", "messages/@original")):
            return ApiAnswer({"message": "405: Method Not Allowed", "code": 0}, 405)
        body = json.loads(request.body)
        try:
            refuse_message(body)
        except (InvalidBody, LookupError, TypeError) as error:
            self.faults.append(str(error))
            problem = {"message": f"Invalid Form Body: {error}", "code": 50035}
            return ApiAnswer(problem, 400)
        if place:
            exchange.shows(body)
        else:
            exchange.follow_ups.append(body)
        return ApiAnswer({**body, "id": exchange.number})

    def _begun(
        self, payload: Mapping[str, Any], number: str, edit: Callable[[Body], object] | None
    ) -> Exchange:
        now = self.clock()
        with self._lock:
            self._last = max(self._last + 1, int(now.timestamp() * 1000) << 20)
            number = number or str(self._last)
            token = secrets.token_urlsafe(24)
            whole = {
                **payload,
                "id": number,
                "application_id": self.application.id,
                "token": token,
                "version": 1,
            }
            made = Exchange(number, token, whole, now, edit)
            if payload["type"] != AUTOCOMPLETE:
                self.exchanges[token] = made
            while len(self.exchanges) > MOST_EXCHANGES:
                del self.exchanges[next(iter(self.exchanges))]
        return made

    def _headers(self, body: bytes) -> dict[str, str]:
        return self.application.headers(body, str(int(self.clock().timestamp())))
