"""Verification of signatures with dkimpy, and with DNS records of the test's own."""

from collections.abc import Sequence

import dkim

from channels.email.dkim.keys import DkimRecord, SigningKey, generate, public_value, record_of

RSA_KEY = SigningKey("example.org", "feedletter", generate("rsa"))
ED25519_KEY = SigningKey("example.org", "feedletter-ed25519", generate("ed25519"))
KEYS = (RSA_KEY, ED25519_KEY)


def record(key: SigningKey) -> DkimRecord:
    public = public_value(key.private)
    return record_of(domain=key.domain, selector=key.selector, algorithm=key.algorithm, public=public)


def verified(message: bytes, records: Sequence[DkimRecord]) -> list[bool]:
    """Return for each DKIM-Signature of the message, from the top, whether it is valid."""
    count = message.partition(b"\r\n\r\n")[0].count(b"DKIM-Signature:")
    return [_is_good(message, index, records) for index in range(count)]


def _is_good(message: bytes, index: int, records: Sequence[DkimRecord]) -> bool:
    known = {f"{each.name}.": "".join(each.strings).encode() for each in records}
    try:
        return bool(
            dkim.DKIM(message).verify(idx=index, dnsfunc=lambda name, timeout=5: known.get(_text(name)))
        )
    except dkim.DKIMException:
        return False


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
