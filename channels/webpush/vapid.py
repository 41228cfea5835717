"""Who asks a push service, proven by a signature: VAPID, RFC 8292. Pure."""

import json
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, EllipticCurvePrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256

from channels.webpush.keys import base64url, point_of

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
