"""Hands a notification to the push service of its reader's browser: RFC 8030."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import parseaddr
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import requests
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from django.conf import settings

from channels.base import (
    NOTHING,
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Looks,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.http.client import ApiSession, Failed, secrets_in
from channels.http.outcomes import ApiService, Verdict
from channels.http.transport import ApiResponse
from channels.letter import Letter, Recipient
from channels.rules.breakers import Breaker
from channels.webpush.encryption import LONGEST_PUSH, encrypted
from channels.webpush.keys import base64url, point_of, private_key_of
from channels.webpush.message import Notification, notifier
from common.truncation import DoesNotFit

# RFC 8292 §2: not more than 24 hours ahead. Half of that, for clocks that go wrong.
GOOD_FOR = timedelta(hours=12)


def origin_of(endpoint: str) -> str:
    """The origin of a push service (RFC 6454 §6.2), which a token is made out to: without the usual port."""
    parts = urlsplit(endpoint)
    host = parts.netloc.lower()
    return f"{parts.scheme}://{host.removesuffix(':443') if parts.scheme == 'https' else host}"


def authorization(private: EllipticCurvePrivateKey, *, audience: str, subject: str, now: datetime) -> str:
    """The header's value for one push service. `subject` is a mailto: or https: address of the sender."""
    claims = {"aud": audience, "exp": int((now + GOOD_FOR).timestamp()), "sub": subject}
    parts = ({"typ": "JWT", "alg": "ES256"}, claims)
    signed = ".".join(base64url(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    # RFC 7518 §3.4: both numbers as 32 octets, not as DER.
    numbers = decode_dss_signature(private.sign(signed.encode(), ECDSA(SHA256())))
    signature = base64url(b"".join(number.to_bytes(32, "big") for number in numbers))
    return f"vapid t={signed}.{signature}, k={base64url(point_of(private.public_key()))}"


# For so long a device may be off, and is told all the same.
TIME_TO_LIVE = timedelta(days=7)
# A push service that takes less than the RFC wants may take this.
SHORTER_PUSH = LONGEST_PUSH // 2
# Anyone may name a push service that is slow, and others wait behind it.
PUSH_SECONDS = 10.0
NO_KEY = (
    "Nothing was posted: the key of this site's notifications cannot be read. SECRET_KEY has changed: add the"
    " old one to SECRET_KEY_FALLBACKS."
)
NOT_ACCEPTED = (
    "It does not accept this site's word: look at this machine's clock, and at DEFAULT_FROM_EMAIL, which says"
    " who answers for it."
)
# What Google's, Apple's and Mozilla's say where a device was promised to another key than ours.
OTHER_KEY = ("do not correspond", "vapidpkhashmismatch", "vapid public key mismatch")


def _words(answer: ApiResponse) -> str:
    """Mozilla's and Apple's are JSON, Google's are plain text."""
    for place in (("message",), ("reason",), ("error",)):
        if isinstance(said := answer.at(*place), str):
            return said
    plain = answer.body[:500].decode("utf-8", "replace").strip()
    return "" if plain.startswith(("<", "{", "[")) else plain


def _code(answer: ApiResponse) -> str:
    if answer.status in (401, 403):
        return "other key" if any(words in _words(answer).lower() for words in OTHER_KEY) else "key"
    return str(answer.status)


PUSH_SERVICE = ApiService(
    name="a push service",
    words=_words,
    code=_code,
    # Never the lane: it is shared by all devices, and anyone may name a push service.
    verdicts={
        "404": Verdict.DESTINATION,
        "410": Verdict.DESTINATION,
        "other key": Verdict.DESTINATION,
        "key": Verdict.TRY_AGAIN,
        "429": Verdict.TRY_AGAIN,
        "502": Verdict.TRY_AGAIN,
        "503": Verdict.TRY_AGAIN,
        "504": Verdict.TRY_AGAIN,
    },
    advice="The device takes notifications from here no more; its reader may ask for them anew.",
)


class WebPushSession(ApiSession):
    """As Session has it. `private` None: the key cannot be read. `subject` is who answers for our pushes."""

    def __init__(
        self,
        *,
        private: EllipticCurvePrivateKey | None,
        subject: str,
        session: requests.Session | None = None,
        timeout: float = PUSH_SECONDS,
    ) -> None:
        super().__init__(session=session, timeout=timeout)
        self._private, self._subject = private, subject
        # By push service: a token, and until when it is used. Apple wants none made more than once an hour.
        self._tokens: dict[str, tuple[str, datetime]] = {}

    def send(
        self,
        message: Notification,
        *,
        key: str,
        begun_at: datetime | None,
        now: datetime,
        progress: Mapping[str, Any] = NOTHING,
    ) -> Outcome:
        """Pushes under a topic made of the key: a repetition replaces what the device has not fetched yet,
        and what it shows already."""
        if message.refusal:
            return Permanent(message.refusal)
        if self._private is None:
            return Temporary(NO_KEY, stops_lane=True)
        topic = topic_of(key)
        secrets = (message.auth, message.p256dh, message.leave, *secrets_in(message.endpoint))
        client = self.client(message.endpoint, PUSH_SERVICE, now, secrets=secrets)
        outcome: Outcome = Sent(topic)
        for most in (LONGEST_PUSH, SHORTER_PUSH):
            try:
                body = encrypted(message.payload(topic, most=most), p256dh=message.p256dh, auth=message.auth)
            except DoesNotFit as error:
                return Permanent(str(error))
            except ValueError as error:
                return Permanent(f"The device cannot be told: {error}", disables=True)
            headers = {
                "Authorization": self._authorization(self._private, message.endpoint, now),
                "Content-Encoding": "aes128gcm",
                "Content-Type": "application/octet-stream",
                "TTL": str(int(TIME_TO_LIVE.total_seconds())),
                "Urgency": "normal",
                "Topic": topic,
            }
            try:
                # 201 is what RFC 8030 §5 says; some answer with another success.
                client.call(
                    "POST", message.endpoint, read=lambda _: None, posting=True, data=body, headers=headers
                )
                return Sent(topic)
            except Failed as failed:
                outcome = failed.outcome
                if not failed.is_about_message:
                    break
        return _of_this_device(outcome, client.host)

    def _authorization(self, private: EllipticCurvePrivateKey, endpoint: str, now: datetime) -> str:
        audience = origin_of(endpoint)
        token, until = self._tokens.get(audience, ("", now))
        if until <= now:
            token = authorization(private, audience=audience, subject=self._subject, now=now)
            self._tokens[audience] = (token, now + GOOD_FOR / 2)
        return token


def topic_of(key: str) -> str:
    """RFC 8030 §5.4: at most 32 characters of base64url."""
    return urlsafe_b64encode(sha256(key.encode()).digest()[:24]).decode()


def _of_this_device(outcome: Outcome, host: str) -> Outcome:
    """What a push service does to one device stops no other's notifications."""
    if not isinstance(outcome, Temporary):
        return outcome
    text = outcome.text
    if text.startswith((f"{host} answered 401", f"{host} answered 403")):
        text += f" {NOT_ACCEPTED}"
    return replace(outcome, text=text, stops_lane=False, suspect=False)


# The one account, which has the key. No account that an admin adds may have a capital.
DEVICES = "Devices"


class WebPushChannel:
    """One lane for all devices; a push service is a domain of theirs."""

    key = "webpush"
    # A second push replaces the first: by its topic at the push service, by its tag on the device.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults(serial=False, concurrency=10)
    account_lane: LaneDefaults | None = None
    breaker: Breaker | None = None

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return DEVICES

    def shared_account(self, core: str) -> str:
        """Its lane is the account itself."""
        return ""

    def domain(self, core: str) -> str:
        """The host of the push service."""
        return core.rpartition("@")[2]

    def compose(self, letter: Letter, recipient: Recipient) -> Notification:
        return notifier(letter)(recipient)

    def composer(self, letter: Letter) -> Callable[[Recipient], Notification]:
        return notifier(letter)

    def preview(self, message: Notification) -> Looks:
        payload = message.payload(topic_of(""))
        return Looks(
            text=f"{message.title}\n{message.text}",
            length=len(payload),
            limit=LONGEST_PUSH,
            refusal=message.refusal,
        )

    def sessions(self, lane: LaneFacts) -> None:
        """Its sessions block."""
        return

    def connect(self, lane: LaneFacts) -> WebPushSession:
        """The endpoint comes with each message."""
        number = lane.credentials.get("private", "")
        return WebPushSession(private=private_key_of(number) if number else None, subject=subject())


def subject() -> str:
    """Whom a push service asks about our pushes (RFC 8292 §2.1)."""
    return f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
