"""P-256 keys: base64url without padding."""

from base64 import urlsafe_b64decode, urlsafe_b64encode

from cryptography.hazmat.primitives.asymmetric.ec import (
    SECP256R1,
    EllipticCurvePrivateKey,
    EllipticCurvePublicKey,
    derive_private_key,
    generate_private_key,
)
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

# Uncompressed point (RFC 8291 §3.1) and the browser's secret (§3.2).
POINT_OCTETS = 65
AUTH_OCTETS = 16


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
