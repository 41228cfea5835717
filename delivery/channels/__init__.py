"""The channels: each registers its kind on start, and is loaded in full on first use."""

from functools import cache
from importlib import import_module

from common.ports import channels
from delivery.channels.base import Channel

# key → (dotted path of the Kind, dotted path of the Channel). Adding a channel is adding a line here.
CHANNELS = {
    "email": (
        "delivery.channels.email.kind.EmailKind",
        "delivery.channels.email.channel.EmailChannel",
    ),
    "mastodon": (
        "delivery.channels.mastodon.kind.MastodonKind",
        "delivery.channels.mastodon.channel.MastodonChannel",
    ),
}


def _load(path: str) -> type:
    module, _, name = path.rpartition(".")
    loaded: type = getattr(import_module(module), name)
    return loaded


def register_all() -> None:
    """Makes every kind known to the apps before us."""
    for kind, _ in CHANNELS.values():
        channels.register(_load(kind)())


@cache
def channel(key: str) -> Channel:
    """The channel of that name, one object for the process. Raises KeyError."""
    made: Channel = _load(CHANNELS[key][1])()
    return made
