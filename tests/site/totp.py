"""An authenticator app (RFC 6238)."""

import base64
import hashlib
import hmac
import struct
import time


def code_of(secret: str, *, steps: int = 1) -> str:
    """Return the code that the app shows in `steps` half minutes. The next one is accepted, too."""
    counter = struct.pack(">Q", int(time.time()) // 30 + steps)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    start = digest[-1] & 15
    number = struct.unpack(">I", digest[start : start + 4])[0] & 0x7FFF_FFFF
    return f"{number % 1_000_000:06}"
