"""What Discord's bits of permissions allow, to people and to the bot. Pure.

https://discord.com/developers/docs/topics/permissions#permissions-bitwise-permission-flags
"""

import re

ADMINISTRATOR, MANAGE_GUILD = 1 << 3, 1 << 5
VIEW, SEND, EMBED, HISTORY, SEND_IN_THREADS = 1 << 10, 1 << 11, 1 << 14, 1 << 16, 1 << 38
# What the invitation asks for.
INVITED = VIEW | SEND | EMBED | HISTORY | SEND_IN_THREADS
THREADS = (10, 11, 12)
_DECIMAL = re.compile(r"[0-9]{1,38}")
_NAMES = {
    VIEW: "View Channel",
    SEND: "Send Messages",
    EMBED: "Embed Links",
    SEND_IN_THREADS: "Send Messages in Threads",
}


def manages(bits: int) -> bool:
    """Whether a person with these may change what a server has."""
    return bool(bits & (ADMINISTRATOR | MANAGE_GUILD))


def missing_in(bits: int, channel_type: int) -> list[str]:
    """What the bot lacks for posting there, as Discord's pages call it in English."""
    if bits & ADMINISTRATOR:
        return []
    needed = (VIEW, SEND_IN_THREADS if channel_type in THREADS else SEND, EMBED)
    return [_NAMES[bit] for bit in needed if not bits & bit]


def bits_of(said: object) -> int:
    """Return the bits that Discord writes as decimal text; 0 for anything else or beyond 128 bits."""
    return int(said) if isinstance(said, str) and _DECIMAL.fullmatch(said) else 0
