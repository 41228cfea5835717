"""Each channel registers its specs on start, and is loaded on first use.

A folder is a channel if its `__init__.py` has CHANNELS, which maps keys to the dotted paths of spec and
channel within the folder.
"""

import pkgutil
from functools import cache
from importlib import import_module

from channels.base import Channel
from common.ports import channels


def _found() -> dict[str, tuple[str, str]]:
    found = {}
    for folder in pkgutil.iter_modules(__path__, f"{__name__}."):
        if folder.ispkg:
            paths = getattr(import_module(folder.name), "CHANNELS", {})
            found.update({key: (f"{folder.name}.{a}", f"{folder.name}.{b}") for key, (a, b) in paths.items()})
    return found


CHANNELS = _found()


def _load(path: str) -> type:
    module, _, name = path.rpartition(".")
    loaded: type = getattr(import_module(module), name)
    return loaded


def register_all() -> None:
    for kind, _ in CHANNELS.values():
        channels.register(_load(kind)())


@cache
def channel(key: str) -> Channel:
    """Return one object per process. Raises KeyError."""
    made: Channel = _load(CHANNELS[key][1])()
    return made
