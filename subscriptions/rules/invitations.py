"""Proofs in links of feedletter 0.2.5, whose letters are still in mailboxes."""

import hashlib
import hmac
from enum import StrEnum

# Upstream's ids are signed 64-bit integers.
LARGEST_ID = 2**63 - 1
# Here the numbers of a further database have its place as their upper bits, so that no two collide.
NUMBERS_EACH = 2**48


class Suffix(StrEnum):
    CONFIRM = "ConfirmSuffix"
    REMOVE = "RemoveSuffix"


def invitation(subscription_id: int, *, salt: str, suffix: Suffix) -> str:
    """Return SHA3-256 over id (8 octets, big-endian), salt and suffix, in hex."""
    octets = subscription_id.to_bytes(8, "big", signed=True)
    return hashlib.sha3_256(octets + salt.encode() + suffix.encode()).hexdigest()


def number_here(number: int, place: int) -> int:
    """Return the number as stored, 0 if it cannot be. `place` is the database's, 0 for the first."""
    if place and not 0 < number < NUMBERS_EACH:
        return 0
    return number + place * NUMBERS_EACH


def numbers_of(place: int) -> tuple[int, int]:
    """Return the first and the last number here of a database."""
    return place * NUMBERS_EACH, (place + 1) * NUMBERS_EACH - 1


def is_invited(subscription_id: int, given: str, *, salt: str, suffix: Suffix) -> bool:
    """Check it in constant time. False without a salt."""
    if not salt or not given.isascii():
        return False
    return hmac.compare_digest(invitation(subscription_id, salt=salt, suffix=suffix), given.lower())
