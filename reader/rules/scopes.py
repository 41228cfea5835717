"""Scopes of Microsub and IndieAuth."""

from collections.abc import Iterable

READ, FOLLOW, CHANNELS, MUTE, BLOCK = "read", "follow", "channels", "mute", "block"

SCOPES = (READ, FOLLOW, CHANNELS, MUTE, BLOCK)
# The name, besides the address.
PROFILE = "profile"
GRANTABLE = (*SCOPES, PROFILE)


def known_scopes(asked: Iterable[str]) -> list[str]:
    """Return the grantable ones, in our order."""
    wanted = set(asked)
    return [scope for scope in GRANTABLE if scope in wanted]
