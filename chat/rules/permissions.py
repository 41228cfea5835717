"""https://discord.com/developers/docs/topics/permissions#permissions-bitwise-permission-flags"""

import re
from collections.abc import Mapping
from typing import Any

ADMINISTRATOR, MANAGE_GUILD = 1 << 3, 1 << 5
VIEW, SEND, EMBED, HISTORY, SEND_IN_THREADS = 1 << 10, 1 << 11, 1 << 14, 1 << 16, 1 << 38
MANAGE_THREADS = 1 << 34
EVERYTHING = (1 << 64) - 1
# Of the invitation.
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
    return bool(bits & (ADMINISTRATOR | MANAGE_GUILD))


def missing_in(bits: int, channel_type: Any) -> list[str]:
    """Return Discord's English names."""
    if bits & ADMINISTRATOR:
        return []
    needed = (VIEW, SEND_IN_THREADS if channel_type in THREADS else SEND, EMBED)
    return [_NAMES[bit] for bit in needed if not bits & bit]


def permissions_in(
    channel: Mapping[str, Any], *, roles: Any, member: Mapping[str, Any], guild_id: int, user_id: Any
) -> int:
    """Return a member's permissions, from API data.

    Server roles first, then the channel's overwrites for everybody, the member's roles and the member.
    https://discord.com/developers/docs/topics/permissions#permission-overwrites
    """
    everybody, own = str(guild_id), _texts(member.get("roles"))
    bits = 0
    for role in roles if isinstance(roles, list) else []:
        if isinstance(role, Mapping) and str(role.get("id")) in {everybody, *own}:
            bits |= bits_of(role.get("permissions"))
    if bits & ADMINISTRATOR:
        return EVERYTHING
    said = channel.get("permission_overwrites")
    overwrites = [one for one in said if isinstance(one, Mapping)] if isinstance(said, list) else []
    for ids in ({everybody}, own - {everybody}, {str(user_id)}):
        chosen = [one for one in overwrites if str(one.get("id")) in ids]
        for one in chosen:
            bits &= ~bits_of(one.get("deny"))
        for one in chosen:
            bits |= bits_of(one.get("allow"))
    return bits


def _texts(said: Any) -> set[str]:
    return {one for one in said if isinstance(one, str)} if isinstance(said, list) else set()


def bits_of(said: object) -> int:
    """Return 0 for anything but decimals of at most 128 bits."""
    return int(said) if isinstance(said, str) and _DECIMAL.fullmatch(said) else 0
