"""Hooks are the operator's own code, named by dotted path: what may be loaded, and how it is called."""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, ModuleType
from typing import Any

from django.conf import settings

from common.refused import Refused

# The kinds of hooks, each with the names of its arguments (docs/hooks.md).
KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "filter": ("context", "post"),
        "contents": ("context", "posts"),
        "subject": ("context", "posts"),
        "announce_restriction": ("context", "post"),
        "mastodon_announcement": ("context", "post"),
        "bluesky_announcement": ("context", "post"),
        "template_params": ("context", "recipient"),
    }
)


class HookError(Refused):
    """Something is wrong with a hook. The message is one sentence for an admin."""


class HookRefused(HookError):
    """Hooks that may not be loaded, cannot be loaded, or hold no function that is a hook."""


class HookFailed(HookError):
    """A hook that raised an error, or gave back something wrong."""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The functions found at a path, by kind."""

    path: str = ""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __contains__(self, kind: str) -> bool:
        return kind in self.functions

    def call(self, kind: str, **given: Any) -> Any:
        """What the hook of that kind gives back. Raises HookFailed for whatever it raises."""
        try:
            return self.functions[kind](**given)
        except Exception as error:
            raise self.failed(kind, f"failed: {type(error).__name__}: {error}") from error

    def failed(self, kind: str, what: str) -> HookFailed:
        """The error for a hook that did `what`: “The hook my_hooks.weekly.filter gave back …”."""
        return HookFailed(f"The hook {self.path}.{kind} {what}".rstrip(".") + ".")


NONE = Hooks()


def load(path: str) -> Hooks:
    """The hooks at a dotted path; no path, no hooks. Raises HookRefused.

    Only modules under HOOK_MODULES are ever imported.
    """
    if not path:
        return NONE
    if not is_loadable(path, settings.HOOK_MODULES):
        raise HookRefused(_not_allowed(path, settings.HOOK_MODULES))
    holder = _found(path)
    if isinstance(holder, ModuleType) and not is_loadable(holder.__name__, settings.HOOK_MODULES):
        raise HookRefused(_not_allowed(holder.__name__, settings.HOOK_MODULES))
    functions = {kind: getattr(holder, kind) for kind in KINDS if hasattr(holder, kind)}
    if not functions:
        raise HookRefused(f"“{path}” has none of the hooks {', '.join(KINDS)}.")
    for kind, function in functions.items():
        wanted = f"{kind}(*, {', '.join(KINDS[kind])})"
        if not callable(function):
            raise HookRefused(f"“{path}.{kind}” is no function. It is called as {wanted}.")
        try:
            inspect.signature(function).bind(**dict.fromkeys(KINDS[kind]))
        except (TypeError, ValueError) as error:
            raise HookRefused(f"“{path}.{kind}” cannot be called as {wanted}: {error}.") from error
    return Hooks(path, functions)


def is_loadable(path: str, prefixes: Iterable[str]) -> bool:
    """Whether the path is one of the modules, or stands below one."""
    return any(path == prefix or path.startswith(f"{prefix}.") for prefix in prefixes)


def _not_allowed(path: str, prefixes: Iterable[str]) -> str:
    named = ", ".join(prefixes)
    if not named:
        return f"“{path}” may not be loaded: no module may. The operator names them in HOOK_MODULES."
    return f"“{path}” may not be loaded: only what stands in HOOK_MODULES may, which is {named}."


def _found(path: str) -> Any:
    """The module of that path; else the attribute of the longest part of the path that is a module."""
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        # Its own path is missing, not something that it imports.
        if (
            not module
            or not path.startswith(f"{error.name}")
            or not is_loadable(module, settings.HOOK_MODULES)
        ):
            raise HookRefused(f"“{path}” cannot be imported: {error}.") from error
    except Exception as error:
        raise HookRefused(f"“{path}” cannot be imported: {type(error).__name__}: {error}.") from error
    holder = _found(module)
    if not hasattr(holder, name):
        raise HookRefused(f"“{path}” cannot be imported: {module} has no {name}.")
    return getattr(holder, name)
