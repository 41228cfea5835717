"""Return addresses that name their delivery (VERP): bounces+<delivery>-<stamp>@BOUNCE_DOMAIN.

Hex throughout, because some hosts change the case of what stands before the @ on the way back.
"""

import re
from typing import NamedTuple

MOST_TOKENS = 10
# RFC 5321 §4.5.3.1.1: 64 octets before the @. 8 + 16 + 1 + 32 = 57.
_TOKEN = re.compile(rb"bounces\+([0-9a-f]{1,16})-([0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE)


class Token(NamedTuple):
    """What an address claims: the delivery's id, and the stamp that has to prove it."""

    delivery_id: int
    stamp: str

    @property
    def text(self) -> str:
        """What was stamped."""
        return f"{self.delivery_id:x}"


def address(token: Token, domain: str) -> str:
    """The return address of a delivery."""
    return f"bounces+{token.text}-{token.stamp}@{domain}"


def tokens(raw: bytes) -> tuple[Token, ...]:
    """The return addresses in a text, in their order, each once, at most MOST_TOKENS. Nothing is proven."""
    found: dict[Token, None] = {}
    for match in _TOKEN.finditer(raw):
        found[Token(int(match[1], 16), match[2].decode("ascii").lower())] = None
        if len(found) == MOST_TOKENS:
            break
    return tuple(found)
