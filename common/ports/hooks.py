"""Mails to one person, requested by earlier apps and sent by a later one."""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType, ModuleType
from typing import Any, Protocol

from django.conf import settings

from common.refused import Refused

MailFacts = Mapping[str, str | int]
# Names of arguments (docs/hooks.md).
HOOK_KINDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
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
    """The message is for admins."""


class HookRefused(HookError):
    pass


class HookFailed(HookError):
    pass


@dataclass(frozen=True, slots=True)
class Hooks:
    path: str = ""
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict)

    def __contains__(self, kind: str) -> bool:
        return kind in self.functions

    def call(self, kind: str, **given: Any) -> Any:
        """Raises HookFailed."""
        try:
            return self.functions[kind](**given)
        except Exception as error:
            raise self.failed(kind, f"failed: {type(error).__name__}: {error}") from error

    def failed(self, kind: str, what: str) -> HookFailed:
        return HookFailed(f"The hook {self.path}.{kind} {what}".rstrip(".") + ".")


NONE = Hooks()


def load(path: str) -> Hooks:
    """Load only modules under HOOK_MODULES. Raises HookRefused."""
    if not path:
        return NONE
    if not is_loadable(path, settings.HOOK_MODULES):
        raise HookRefused(_not_allowed(path, settings.HOOK_MODULES))
    holder = _found(path)
    if isinstance(holder, ModuleType) and not is_loadable(holder.__name__, settings.HOOK_MODULES):
        raise HookRefused(_not_allowed(holder.__name__, settings.HOOK_MODULES))
    functions = {kind: getattr(holder, kind) for kind in HOOK_KINDS if hasattr(holder, kind)}
    if not functions:
        raise HookRefused(f"“{path}” has none of the hooks {', '.join(HOOK_KINDS)}.")
    for kind, function in functions.items():
        wanted = f"{kind}(*, {', '.join(HOOK_KINDS[kind])})"
        if not callable(function):
            raise HookRefused(f"“{path}.{kind}” is no function. It is called as {wanted}.")
        try:
            inspect.signature(function).bind(**dict.fromkeys(HOOK_KINDS[kind]))
        except (TypeError, ValueError) as error:
            raise HookRefused(f"“{path}.{kind}” cannot be called as {wanted}: {error}.") from error
    return Hooks(path, functions)


def is_loadable(path: str, prefixes: Iterable[str]) -> bool:
    return any(path == prefix or path.startswith(f"{prefix}.") for prefix in prefixes)


def _not_allowed(path: str, prefixes: Iterable[str]) -> str:
    named = ", ".join(prefixes)
    if not named:
        return f"“{path}” may not be loaded: no module may. The operator names them in HOOK_MODULES."
    return f"“{path}” may not be loaded: HOOK_MODULES allows only {named}."


def _found(path: str) -> Any:
    """Return the module, or the attribute of the longest prefix that is a module."""
    module, _, name = path.rpartition(".")
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        # The path itself is missing, not one of its imports.
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


class SiteMail(Protocol):
    def is_sent(self) -> bool:
        """Return whether mail leaves here: admins read the mailbox page, and links can be keys."""

    def send(
        self, *, address: str, template: str, context: MailFacts, now: datetime, language: str = ""
    ) -> None:
        """Queue in the caller's transaction. Raises Refused for a wrong address.

        Values of `context` whose names end in `_url` are encrypted, because they may contain keys.
        """

    def forget(self, address: str) -> None:
        """Delete the address and its mails, unless it got other mail."""


# One, from AppConfig.ready().
site_mails: list[Callable[[], SiteMail]] = []


def site_mail() -> SiteMail:
    return site_mails[0]()
