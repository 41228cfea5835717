"""The proofs in upstream's links: feedletter 0.2.5 wrote them, and its letters are in people's mailboxes."""

import hashlib
import hmac
from enum import StrEnum

# Upstream's ids are 8 octets, with a sign.
LARGEST_ID = 2**63 - 1


class Suffix(StrEnum):
    """What a link is for."""

    CONFIRM = "ConfirmSuffix"
    REMOVE = "RemoveSuffix"


def invitation(subscription_id: int, *, salt: str, suffix: Suffix) -> str:
    """SHA3-256 over the id (8 octets, big-endian), the salt and the suffix, in hex."""
    octets = subscription_id.to_bytes(8, "big", signed=True)
    return hashlib.sha3_256(octets + salt.encode() + suffix.encode()).hexdigest()


def is_invited(subscription_id: int, given: str, *, salt: str, suffix: Suffix) -> bool:
    """Whether `given` proves that upstream wrote that link; never without a salt. In constant time."""
    if not salt or not given.isascii():
        return False
    return hmac.compare_digest(invitation(subscription_id, salt=salt, suffix=suffix), given.lower())
