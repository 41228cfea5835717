"""Ed25519 over timestamp and body.

https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint
"""

import re
from datetime import datetime

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

# An interaction's token is valid so long; older requests are replays.
OLDEST_SECONDS = 15 * 60
# Hundreds of digits would overflow a float.
_TIMESTAMP = re.compile(r"[0-9]{1,12}")


def is_signed(body: bytes, *, signature: str, timestamp: str, public_key: str, now: datetime) -> bool:
    """Accepts recent ones; `signature` and `public_key` are hexadecimal."""
    if not _TIMESTAMP.fullmatch(timestamp):
        return False
    try:
        signed, key = bytes.fromhex(signature), bytes.fromhex(public_key)
        Ed25519PublicKey.from_public_bytes(key).verify(signed, timestamp.encode("ascii") + body)
    except (ValueError, InvalidSignature):
        return False
    return abs(now.timestamp() - int(timestamp)) <= OLDEST_SECONDS
