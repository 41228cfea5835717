"""RFC 8291, one record of aes128gcm (RFC 8188).

P-256 keys: base64url without padding.
"""

import json
import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import dataclass, replace

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.utils import translation
from django.utils.translation import gettext

from channels.announcement import Announcement, announcement_of
from channels.base import CannotPost
from channels.languages import spoken
from channels.letter import Letter
from common.truncation import DoesNotFit, cut_at_word

# Uncompressed point (RFC 8291 §3.1) and the browser's secret (§3.2).
POINT_OCTETS = 65
AUTH_OCTETS = 16
# RFC 8291 §4: push services accept at least 4,096 octets: 86 for the header, 16 for the tag, 1 for the
# delimiter.
RECORD_OCTETS = 4_096
SALT_OCTETS = 16
LONGEST_PUSH = RECORD_OCTETS - (SALT_OCTETS + 4 + 1 + POINT_OCTETS) - 16 - 1
# Octets; screens show less, and room remains for the text.
TITLE_OCTETS = 300
NO_PAGE = "There is no page to open. Set SITE_URL, and give the newsletter pages."


@dataclass(frozen=True, slots=True)
class Notification:
    """Data for static/feedletter/push-worker.js.

    A click opens `url`; the button with the `leave_label` leads to the unsubscribe link.
    """

    title: str
    text: str
    url: str
    leave_label: str
    icon: str = ""
    language: str = ""

    def payload(self, tag: str, leave: str, *, most: int = LONGEST_PUSH) -> bytes:
        """Return the JSON; text, then title, are cut at a word to fit. `leave` is the unsubscribe link.

        A picture whose URL leaves no room for text is omitted. Raises DoesNotFit.
        """

        def written(title: str, text: str) -> bytes:
            fields = {
                "title": title,
                "body": text,
                "url": self.url,
                "tag": tag,
                "icon": self.icon,
                "lang": self.language,
                "leave": leave,
                "leave_label": self.leave_label,
            }
            kept = {name: value for name, value in fields.items() if value}
            return json.dumps(kept, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")

        if self.icon and len(written(self.title, "")) > most // 2:
            return replace(self, icon="").payload(tag, leave, most=most)
        title = cut_at_word(self.title, lambda part: len(part.encode("utf-8", "replace")) <= TITLE_OCTETS)
        text = cut_at_word(self.text, lambda part: len(written(title, part)) <= most)
        title = cut_at_word(title, lambda part: len(written(part, text)) <= most)
        if len(whole := written(title, text)) > most:
            raise DoesNotFit("Its link is longer than a push message allows.")
        return whole


def notification_of(letter: Letter) -> Notification:
    """Raises CannotPost."""
    post = announcement_of(letter)
    url = letter.web_url or letter.page_url or post.link
    if not url:
        raise CannotPost(NO_PAGE)
    with translation.override(spoken(letter.language)):
        label = gettext("Stop notifications on this device")
    return Notification(
        title=post.title or post.newsletter_title or post.newsletter,
        text=notification_text(post),
        url=url,
        leave_label=label,
        # Browsers do not show pictures over http.
        icon=next((image.url for image in post.images if image.url.startswith("https:")), ""),
        language=post.language,
    )


def notification_text(post: Announcement) -> str:
    if post.own_words:
        return post.own_words
    whose = " · ".join(filter(None, (post.newsletter_title if post.title else "", post.authors)))
    more = "\n".join(f"• {line.title}" for line in post.lines) or post.summary
    return "\n".join(filter(None, (whose, more)))


def encrypted(
    plain: bytes,
    *,
    p256dh: str,
    auth: str,
    private: EllipticCurvePrivateKey | None = None,
    salt: bytes | None = None,
) -> bytes:
    """Encrypt at most LONGEST_PUSH octets. Raises ValueError, also for invalid keys.

    `private` and `salt` are new for each message, except in tests.
    """
    if len(plain) > LONGEST_PUSH:
        raise ValueError(f"A push holds {LONGEST_PUSH} octets at most.")
    ours, theirs = private or generate_private_key(SECP256R1()), public_key_of(p256dh)
    salt = os.urandom(SALT_OCTETS) if salt is None else salt
    point = point_of(ours.public_key())
    info = b"WebPush: info\0" + point_of(theirs) + point
    secret = _hkdf(ours.exchange(ECDH(), theirs), from_base64url(auth, AUTH_OCTETS), info, 32)
    # RFC 8188 §2.2 and §2.3.
    key = _hkdf(secret, salt, b"Content-Encoding: aes128gcm\0", 16)
    nonce = _hkdf(secret, salt, b"Content-Encoding: nonce\0", 12)
    # RFC 8188 §2: salt, record size, and the sender's key as the key id. 2 ends the last record.
    header = salt + RECORD_OCTETS.to_bytes(4, "big") + bytes([len(point)]) + point
    return header + AESGCM(key).encrypt(nonce, plain + b"\x02", None)


def _hkdf(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def base64url(octets: bytes) -> str:
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def from_base64url(text: str, length: int) -> bytes:
    """Decode exactly `length` octets. Raises ValueError."""
    if not text.isascii():
        raise ValueError("it is no base64url.")
    octets = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(octets) != length or base64url(octets) != text.rstrip("="):
        raise ValueError(f"it has to be {length} octets in base64url.")
    return octets


def public_key_of(text: str) -> EllipticCurvePublicKey:
    """Raises ValueError."""
    return EllipticCurvePublicKey.from_encoded_point(SECP256R1(), from_base64url(text, POINT_OCTETS))


def point_of(key: EllipticCurvePublicKey) -> bytes:
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def new_private_key() -> str:
    """Stored as a base64url number."""
    number = generate_private_key(SECP256R1()).private_numbers().private_value
    return base64url(number.to_bytes(32, "big"))


def private_key_of(text: str) -> EllipticCurvePrivateKey:
    return derive_private_key(int.from_bytes(from_base64url(text, 32), "big"), SECP256R1())
