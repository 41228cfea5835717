"""`v1:<act>:<number>`; old ids still work."""

import re
from dataclasses import dataclass

VERSION = "v1"
LONGEST_CUSTOM_ID = 100
# Maximum of snowflakes and bigint.
LARGEST_ID = 2**63 - 1
_NUMBER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Pressed:
    """`number` is mostly a feed's in its server."""

    act: str
    number: int = 0

    def __str__(self) -> str:
        return f"{VERSION}:{self.act}:{self.number}"


def pressed(custom_id: object) -> Pressed | None:
    """None if unknown."""
    parts = custom_id.split(":") if isinstance(custom_id, str) and len(custom_id) <= LONGEST_CUSTOM_ID else []
    if len(parts) != 3 or parts[0] != VERSION or not parts[1].isidentifier() or len(parts[1]) > 20:
        return None
    number = int(parts[2]) if _NUMBER.fullmatch(parts[2]) else LARGEST_ID + 1
    return Pressed(parts[1], number) if number <= LARGEST_ID else None
