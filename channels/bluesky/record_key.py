"""Keys of records: one for each post, the same whenever it is tried again. Pure."""

import hashlib
from datetime import UTC, datetime, timedelta

# https://atproto.com/specs/tid
_LETTERS = "234567abcdefghijklmnopqrstuvwxyz"
_LENGTH = 13
_CLOCK_BITS = 10
_MOST_MICROSECONDS = 2**53 - 1
# Posts of one moment differ by their hash, within a second.
_SPREAD = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def record_key(at: datetime, key: str) -> str:
    """The key of the post that was published `at` and whose delivery has that `key`."""
    spread, clock = divmod(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8]), 2**_CLOCK_BITS)
    return tid((at - _EPOCH) // timedelta(microseconds=1) + spread % _SPREAD, clock)


def tid(microseconds: int, clock: int) -> str:
    """A “timestamp identifier”: 13 letters of microseconds since 1970, and ten bits of the clock's own."""
    number = min(max(microseconds, 0), _MOST_MICROSECONDS) << _CLOCK_BITS | clock
    return "".join(_LETTERS[number >> 5 * place & 31] for place in reversed(range(_LENGTH)))
