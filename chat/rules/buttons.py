"""Names of buttons, menus and forms, `v1:<act>:<number>`: those of old messages are known. Pure."""

import re
from dataclasses import dataclass

VERSION = "v1"
LONGEST_CUSTOM_ID = 100
# Of a snowflake, and of what a bigint column holds.
LARGEST_ID = 2**63 - 1
_NUMBER = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Pressed:
    """`number` is a feed's in its server, or whatever else the act is about."""

    act: str
    number: int = 0

    def __str__(self) -> str:
        return f"{VERSION}:{self.act}:{self.number}"


def pressed(custom_id: object) -> Pressed | None:
    """None for one that nobody knows any more."""
    parts = custom_id.split(":") if isinstance(custom_id, str) and len(custom_id) <= LONGEST_CUSTOM_ID else []
    if len(parts) != 3 or parts[0] != VERSION or not parts[1].isidentifier() or len(parts[1]) > 20:
        return None
    number = int(parts[2]) if _NUMBER.fullmatch(parts[2]) else LARGEST_ID + 1
    return Pressed(parts[1], number) if number <= LARGEST_ID else None
