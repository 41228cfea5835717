"""Fake push service on loopback with browsers: as strict as a real one, and decrypts."""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from cryptography.exceptions import InvalidSignature, InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.servers.api_server import ApiServer, Reply, Request

LONGEST = 4_096
DAY = 24 * 60 * 60


def octets_of(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def text_of(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def _derived(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


@dataclass
class Browser:
    """Subscription of one browser, with its private keys."""

    path: str
    private: ec.EllipticCurvePrivateKey = field(
        default_factory=lambda: ec.generate_private_key(ec.SECP256R1())
    )
    secret: bytes = field(default_factory=lambda: os.urandom(16))

    @property
    def point(self) -> bytes:
        return self.private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def opened(self, body: bytes) -> bytes:
        """Decrypt a body by RFC 8291 and RFC 8188. Raises InvalidTag and ValueError."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        theirs, sealed = body[21 : 21 + length], body[21 + length :]
        if length != 65 or not len(sealed) <= size:
            raise ValueError("no record of aes128gcm")
        public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), theirs)
        shared = self.private.exchange(ec.ECDH(), public)
        ikm = _derived(shared, self.secret, b"WebPush: info\0" + self.point + theirs, 32)
        key = _derived(ikm, salt, b"Content-Encoding: aes128gcm\0", 16)
        nonce = _derived(ikm, salt, b"Content-Encoding: nonce\0", 12)
        plain = AESGCM(key).decrypt(nonce, sealed, None).rstrip(b"\0")
        if plain[-1:] != b"\x02":
            raise ValueError("no last record")
        return plain[:-1]


def refusal(status: int, words: str) -> Reply:
    return Reply(status, words, {"Content-Type": "text/plain"})


GONE = refusal(410, "push subscription has unsubscribed or expired.")
OTHER_KEY = refusal(
    403,
    "the VAPID credentials in the authorization header do not correspond to the credentials used to create"
    " the subscriptions.",
)


class PushService(ApiServer):
    """Push service.

    All subscriptions are bound to the sender's `public_key`; if empty, to the first one used. `now` replaces
    the clock. `longest` is the size limit of a body.
    """

    def __init__(self, *, public_key: str = "", now: datetime | None = None) -> None:
        super().__init__()
        self.public_key, self.now, self.longest = public_key, now, LONGEST
        self.browsers: dict[str, Browser] = {}
        # By browser and topic: a new message replaces one that was not fetched.
        self.waiting: dict[tuple[str, str], dict[str, Any]] = {}
        self.taken: list[dict[str, Any]] = []

    def subscribe(self, path: str = "/push/1") -> dict[str, str]:
        """Return a new browser's subscription, as its page sends it."""
        browser = self.browsers.setdefault(path, Browser(path))
        return {
            "endpoint": f"{self.url}{path}",
            "p256dh": text_of(browser.point),
            "auth": text_of(browser.secret),
        }

    def usual(self, request: Request) -> Reply:
        browser = self.browsers.get(request.place)
        if browser is None:
            return GONE
        if request.method != "POST":
            return refusal(405, "POST only")
        if said := self._wrong_headers(request):
            return refusal(400, said)
        if len(request.body) > self.longest:
            return refusal(413, "payload too large")
        if refused := self._wrong_token(request):
            return refused
        try:
            message = json.loads(browser.opened(request.body))
        except (InvalidTag, ValueError) as error:
            # A real service forwards it and the browser drops it; here the test must notice.
            return refusal(400, f"cannot be decrypted: {error!r}")
        topic = request.headers.get("topic", f"none-{len(self.taken)}")
        self.taken.append(message)
        self.waiting[request.place, topic] = message
        return Reply(201, headers={"Location": f"{self.url}/message/{len(self.taken)}"})

    def _wrong_headers(self, request: Request) -> str:
        ttl, topic = request.headers.get("ttl", ""), request.headers.get("topic", "x")
        if not ttl.isdecimal():
            return "TTL is missing"
        if not 0 < len(topic) <= 32 or set(topic) - set(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        ):
            return "the topic is no base64url of at most 32 characters"
        if request.headers.get("urgency") not in (None, "very-low", "low", "normal", "high"):
            return "no such urgency"
        return (
            "" if request.headers.get("content-encoding") == "aes128gcm" else "the encoding is no aes128gcm"
        )

    def _wrong_token(self, request: Request) -> Reply | None:
        scheme, _, rest = request.headers.get("authorization", "").partition(" ")
        parts = dict(part.strip().split("=", 1) for part in rest.split(",") if "=" in part)
        if scheme != "vapid" or not {"t", "k"} <= parts.keys():
            return refusal(401, "no vapid")
        header, claims, signature = parts["t"].split(".")
        try:
            point = octets_of(parts["k"])
            public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
            numbers = octets_of(signature)
            der = encode_dss_signature(
                int.from_bytes(numbers[:32], "big"), int.from_bytes(numbers[32:], "big")
            )
            public.verify(der, f"{header}.{claims}".encode(), ec.ECDSA(SHA256()))
        except (ValueError, InvalidSignature):
            return refusal(403, "invalid JWT provided")
        said, now = json.loads(octets_of(claims)), self.now or datetime.now(UTC)
        left = said["exp"] - now.timestamp()
        if json.loads(octets_of(header)) != {"typ": "JWT", "alg": "ES256"} or len(numbers) != 64:
            return refusal(403, "invalid JWT header")
        if said["aud"] != self.url or not 0 < left <= DAY:
            return refusal(403, "invalid aud or exp")
        if not str(said.get("sub", "")).startswith(("mailto:", "https:")) or not urlsplit(said["sub"]).path:
            return refusal(403, "invalid sub")
        if self.public_key not in ("", parts["k"]):
            return OTHER_KEY
        self.public_key = parts["k"]
        return None
