"""Return addresses (VERP): bounces+<delivery>-<stamp>@BOUNCE_DOMAIN.

In hex, as some hosts change the case of the local part.
"""

import re
from typing import NamedTuple

MOST_TOKENS = 10
# RFC 5321 §4.5.3.1.1: 64 octets before the @. 8 + 16 + 1 + 32 = 57.
_TOKEN = re.compile(rb"bounces\+([0-9a-f]{1,16})-([0-9a-f]{32})(?![0-9a-f])", re.IGNORECASE)


class Token(NamedTuple):
    """Unverified."""

    delivery_id: int
    stamp: str

    @property
    def text(self) -> str:
        return f"{self.delivery_id:x}"


def address(token: Token, domain: str) -> str:
    return f"bounces+{token.text}-{token.stamp}@{domain}"


def tokens(raw: bytes) -> tuple[Token, ...]:
    """Return distinct ones, up to MOST_TOKENS. Unverified."""
    found: dict[Token, None] = {}
    for match in _TOKEN.finditer(raw):
        found[Token(int(match[1], 16), match[2].decode("ascii").lower())] = None
        if len(found) == MOST_TOKENS:
            break
    return tuple(found)
