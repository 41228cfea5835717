"""RFC 8291, one record of aes128gcm (RFC 8188)."""

import os

from cryptography.hazmat.primitives.asymmetric.ec import (
    ECDH,
    SECP256R1,
    EllipticCurvePrivateKey,
    generate_private_key,
)
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from channels.webpush.keys import AUTH_OCTETS, POINT_OCTETS, from_base64url, point_of, public_key_of

# RFC 8291 §4: push services accept at least 4,096 octets: 86 for the header, 16 for the tag, 1 for the
# delimiter.
RECORD_OCTETS = 4_096
SALT_OCTETS = 16
LONGEST_PUSH = RECORD_OCTETS - (SALT_OCTETS + 4 + 1 + POINT_OCTETS) - 16 - 1


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
