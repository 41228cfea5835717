"""What a token may do: the words of Microsub's scopes, and IndieAuth's for a name. Pure."""

from collections.abc import Iterable

READ, FOLLOW, CHANNELS, MUTE, BLOCK = "read", "follow", "channels", "mute", "block"

SCOPES = (READ, FOLLOW, CHANNELS, MUTE, BLOCK)
# What says who somebody is: their name, besides their address.
PROFILE = "profile"
GRANTABLE = (*SCOPES, PROFILE)


def known_scopes(asked: Iterable[str]) -> list[str]:
    """Those of them that can be given here, each once, in our order."""
    wanted = set(asked)
    return [scope for scope in GRANTABLE if scope in wanted]
