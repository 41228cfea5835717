"""Push services of browsers: RFC 8030."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from email.utils import parseaddr
from functools import partial
from hashlib import sha256
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from django.conf import settings

from channels.base import (
    CrashPolicy,
    LaneDefaults,
    LaneFacts,
    Looks,
    Message,
    Outcome,
    Permanent,
    Sent,
    Temporary,
)
from channels.bridge import Companion
from channels.http.client import ApiClient, Failed, first_accepted
from channels.http.outcomes import ApiService, Verdict
from channels.http.session import NO_LANE
from channels.http.transport import ApiResponse
from channels.letter import Recipient
from channels.webpush.message import (
    AUTH_OCTETS,
    LONGEST_PUSH,
    Notification,
    base64url,
    encrypted,
    from_base64url,
    notification_of,
    point_of,
    private_key_of,
    public_key_of,
)
from common.net.addresses import may_be_called
from common.ports.channels import Field, ParsedDestination

# RFC 8292 §2: at most 24 hours; half of it, for wrong clocks.
GOOD_FOR = timedelta(hours=12)
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
# The only account, which has the key. Admins cannot use capitals.
DEVICES = "Devices"
LONGEST_ENDPOINT = 1_000
LOCAL_ENDINGS = (".localhost", ".local", ".internal")
NO_ADDRESS = "this isn’t the https address of a push service."


def push_endpoint(typed: str) -> str:
    """Check the URL of a push service. Raises ValueError.

    Names are resolved at each call. Addresses must be public or allowed; https is optional only for loopback,
    where nobody can listen.
    """
    try:
        parts = urlsplit(typed)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        raise ValueError(NO_ADDRESS) from None
    usable = typed.isascii() and typed.isprintable() and len(typed) <= LONGEST_ENDPOINT and " " not in typed
    if not usable or parts.username is not None or parts.fragment:
        raise ValueError(NO_ADDRESS)
    try:
        address = ip_address(host)
    except ValueError:
        is_loopback, is_public = False, "." in host and not host.endswith(LOCAL_ENDINGS)
    else:
        is_loopback = address.is_loopback
        is_public = may_be_called(address, settings.ALLOW_PRIVATE_NETWORKS)
    if not is_public:
        raise ValueError("its host isn’t public.")
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback):
        raise ValueError(NO_ADDRESS)
    return typed


def _of_a_browser(what: str, read: Callable[[str], Any]) -> Callable[[str], str]:
    def clean(typed: str) -> str:
        try:
            read(typed)
        except ValueError:
            raise ValueError(f"that is no {what} of a browser.") from None
        return typed

    return clean


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
        **dict.fromkeys(("404", "410", "other key"), Verdict.DESTINATION),
        **dict.fromkeys(("key", "429", "502", "503", "504"), Verdict.TRY_AGAIN),
    },
    advice="The device no longer accepts notifications. The subscriber can turn them on again.",
)


class WebPushChannel(Companion):
    """One lane for all devices, which is the account itself; push services are their domains.

    The browser's permission prompt is the consent; only a push can test a push service.
    """

    key = "webpush"
    label = "Notifications on devices"
    sentence = "Notifies the phones and desktops of subscribers who turned it on at a newsletter’s page."
    public_sign_up = True
    # By topic at the push service, by tag on the device.
    crash_policy = CrashPolicy.RESEND
    lane = LaneDefaults(serial=False, concurrency=10)
    address_field = "endpoint"
    only_account = DEVICES
    # From a PushSubscription of the Push API.
    destination_fields: tuple[Field, ...] = (
        Field("endpoint", "Endpoint", required=True, secret=True, clean=push_endpoint),
        Field("p256dh", "Public key", required=True, secret=True, clean=_of_a_browser("key", public_key_of)),
        Field(
            "auth",
            "Secret",
            required=True,
            secret=True,
            clean=_of_a_browser("secret", partial(from_base64url, length=AUTH_OCTETS)),
        ),
    )
    service = PUSH_SERVICE
    written = staticmethod(notification_of)

    def __init__(self, lane: LaneFacts = NO_LANE, *, timeout: float = PUSH_SECONDS, **options: Any) -> None:
        super().__init__(lane, timeout=timeout, **options)
        number = self.credentials.get("private", "")
        self.private = private_key_of(number) if number else None
        # Apple allows a new token at most once an hour.
        self._tokens: dict[str, tuple[str, datetime]] = {}

    def destination(self, given: Mapping[str, str]) -> ParsedDestination:
        """The `core` is hash@host: knowing the endpoint is enough to push."""
        host = (urlsplit(given["endpoint"]).hostname or "").lower()
        digest = sha256(given["endpoint"].encode()).digest()[:18]
        name = urlsafe_b64encode(digest).decode()
        return ParsedDestination(
            core=f"{name}@{host}", label=f"device {name[:6]} ({host})", secrets={**given}
        )

    def domain(self, core: str) -> str:
        return core.rpartition("@")[2]

    def message(self, body: Any, to: Recipient, refusal: str) -> Message[Any]:
        return Message(body, to.config, {**to.secrets, "leave": to.unsubscribe_url}, refusal)

    def looks(self, message: Message[Notification]) -> Looks:
        body = message.body
        payload = body.payload(topic_of(""), message.secrets["leave"])
        return Looks(f"{body.title}\n{body.text}", len(payload), LONGEST_PUSH)

    def post(self, api: ApiClient, body: Notification) -> Outcome:
        """A repetition replaces the first push: its topic is from the key."""
        if self.private is None:
            return Temporary(NO_KEY, stops_lane=True)
        topic, secrets = topic_of(api.key), api.to.secrets
        headers = {
            "Authorization": self._authorization(self.private, api.url, api.now),
            "Content-Encoding": "aes128gcm",
            "Content-Type": "application/octet-stream",
            "TTL": str(int(TIME_TO_LIVE.total_seconds())),
            "Urgency": "normal",
            "Topic": topic,
        }

        def push(most: int) -> Sent:
            payload = body.payload(topic, secrets["leave"], most=most)
            try:
                data = encrypted(payload, p256dh=secrets["p256dh"], auth=secrets["auth"])
            except ValueError as error:
                raise Failed(Permanent(f"The device can’t be notified: {error}", disables=True)) from None
            # RFC 8030 §5 specifies 201; some answer with another success.
            api.call("POST", api.url, read=lambda _: None, posting=True, data=data, headers=headers)
            return Sent(topic)

        try:
            return first_accepted((LONGEST_PUSH, SHORTER_PUSH), push)
        except Failed as failed:
            return _of_this_device(failed.outcome, api.host)

    def _authorization(self, private: EllipticCurvePrivateKey, endpoint: str, now: datetime) -> str:
        audience = origin_of(endpoint)
        token, until = self._tokens.get(audience, ("", now))
        if until <= now:
            # RFC 8292 §2.1.
            contact = f"mailto:{parseaddr(settings.DEFAULT_FROM_EMAIL)[1]}"
            token = authorization(private, audience=audience, subject=contact, now=now)
            self._tokens[audience] = (token, now + GOOD_FOR / 2)
        return token


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
