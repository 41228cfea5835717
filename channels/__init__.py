"""The channels: each registers its kinds on start, and is loaded in full on first use.

A folder here is a channel when its `__init__.py` has CHANNELS: by key the dotted paths, within the folder, of
the kind (what the rest of the program knows of it) and of the channel. Adding one is adding a folder.
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


# key → (dotted path of the kind, dotted path of the Channel).
CHANNELS = _found()


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
