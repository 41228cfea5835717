"""Push services of browsers: RFC 8030."""

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

# RFC 8292 §2: at most 24 hours; half of it, for wrong clocks.
GOOD_FOR = timedelta(hours=12)


def origin_of(endpoint: str) -> str:
    """Return the audience (RFC 6454 §6.2), without the default port."""
    parts = urlsplit(endpoint)
    host = parts.netloc.lower()
    return f"{parts.scheme}://{host.removesuffix(':443') if parts.scheme == 'https' else host}"


def authorization(private: EllipticCurvePrivateKey, *, audience: str, subject: str, now: datetime) -> str:
    """Return a header. `subject` is a mailto: or https: address."""
    claims = {"aud": audience, "exp": int((now + GOOD_FOR).timestamp()), "sub": subject}
    parts = ({"typ": "JWT", "alg": "ES256"}, claims)
    signed = ".".join(base64url(json.dumps(part, separators=(",", ":")).encode()) for part in parts)
    # RFC 7518 §3.4: both numbers as 32 octets, not as DER.
    numbers = decode_dss_signature(private.sign(signed.encode(), ECDSA(SHA256())))
    signature = base64url(b"".join(number.to_bytes(32, "big") for number in numbers))
    return f"vapid t={signed}.{signature}, k={base64url(point_of(private.public_key()))}"


# For devices that are off.
TIME_TO_LIVE = timedelta(days=7)
# For services below the RFC's minimum.
SHORTER_PUSH = LONGEST_PUSH // 2
# Anyone may subscribe with a slow service.
PUSH_SECONDS = 10.0
NO_KEY = (
    "Nothing was posted because this site’s notification key can’t be read. SECRET_KEY has "
    "changed. Add the old one to SECRET_KEY_FALLBACKS."
)
NOT_ACCEPTED = (
    "It doesn’t accept this site’s signature. Check this machine’s clock, and "
    "DEFAULT_FROM_EMAIL, which names the contact."
)
# For a subscription with another key: Google, Apple, Mozilla.
OTHER_KEY = ("do not correspond", "vapidpkhashmismatch", "vapid public key mismatch")


def _words(answer: ApiResponse) -> str:
    """JSON from Mozilla and Apple, text from Google."""
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
    # Never the lane: all devices share it, with push services that anyone may choose.
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
    advice="The device no longer accepts notifications. The subscriber can turn them on again.",
)


class WebPushSession(ApiSession):
    """`private` is None if unreadable; `subject` is our contact address."""

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
        # Apple allows a new token at most once an hour.
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
        """A repetition replaces the first push: its topic is from the key."""
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
                return Permanent(f"The device can’t be notified: {error}", disables=True)
            headers = {
                "Authorization": self._authorization(self._private, message.endpoint, now),
                "Content-Encoding": "aes128gcm",
                "Content-Type": "application/octet-stream",
                "TTL": str(int(TIME_TO_LIVE.total_seconds())),
                "Urgency": "normal",
                "Topic": topic,
            }
            try:
                # RFC 8030 §5 specifies 201; some answer with another success.
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
    """At most 32 characters of base64url (RFC 8030 §5.4)."""
    return urlsafe_b64encode(sha256(key.encode()).digest()[:24]).decode()


def _of_this_device(outcome: Outcome, host: str) -> Outcome:
    """One device must not stop the others."""
    if not isinstance(outcome, Temporary):
        return outcome
    text = outcome.text
    if text.startswith((f"{host} answered 401", f"{host} answered 403")):
        text += f" {NOT_ACCEPTED}"
    return replace(outcome, text=text, stops_lane=False, suspect=False)


# The only account, which has the key. Admins cannot use capitals.
DEVICES = "Devices"


class WebPushChannel:
    """One lane for all devices; push services are their domains."""

    key = "webpush"
    # By topic at the push service, by tag on the device.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults(serial=False, concurrency=10)
    account_lane: LaneDefaults | None = None
    breaker: Breaker | None = None

    def lane_account(self, core: str, options: Mapping[str, str]) -> str:
        return DEVICES

    def shared_account(self, core: str) -> str:
        """The lane is the account itself."""
        return ""

    def domain(self, core: str) -> str:
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
        return

    def connect(self, lane: LaneFacts) -> WebPushSession:
        number = lane.credentials.get("private", "")
        return WebPushSession(private=private_key_of(number) if number else None, subject=subject())


def subject() -> str:
    """Return our contact address (RFC 8292 §2.1)."""
    return f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
