"""Channels are found by their folders and registered on start.

A folder is a channel if its `__init__.py` has CHANNELS, which maps keys to the dotted path of a bridge's
class within the folder. Other channels have two classes: the spec, and the channel, loaded on first use.
"""

import pkgutil
from functools import cache
from importlib import import_module

from django.utils.module_loading import import_string

from channels.base import Channel
from common.ports import channels


def _found() -> dict[str, tuple[str, str]]:
    found = {}
    for folder in pkgutil.iter_modules(__path__, f"{__name__}."):
        if folder.ispkg:
            paths = getattr(import_module(folder.name), "CHANNELS", {})
            for key, path in paths.items():
                spec, ours = (path, path) if isinstance(path, str) else path
                found[key] = (f"{folder.name}.{spec}", f"{folder.name}.{ours}")
    return found


CHANNELS = _found()


def register_all() -> None:
    for kind, _ in CHANNELS.values():
        channels.register(import_string(kind)())


@cache
def channel(key: str) -> Channel:
    """Return one object per process. Raises KeyError."""
    made: Channel = import_string(CHANNELS[key][1])()
    return made
