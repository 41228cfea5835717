"""Whether the code of the operator's own that is allowed, and that newsletters name, can be loaded."""

import importlib.util
import re
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections

from common.ports.hooks import HookRefused
from subscriptions.models import Subscribable
from subscriptions.newsletters.own_code import hooks_of

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@register
def hook_modules(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    """HOOK_MODULES names modules that are there."""
    return [found for name in settings.HOOK_MODULES for found in _module(name)]


def _module(name: str) -> list[CheckMessage]:
    if not _DOTTED.fullmatch(name):
        return [
            Error(
                f"HOOK_MODULES is wrong: “{name}” is not the name of a Python module.",
                hint="Separate names with commas, such as my_hooks,our_letters.hooks",
                id="feedletter.E001",
            )
        ]
    if _is_there(name):
        return []
    return [
        Warning(
            f"HOOK_MODULES names “{name}”, which is not there.",
            hint="It has to be on Python's path: beside manage.py, installed, or in PYTHONPATH.",
            id="feedletter.W005",
        )
    ]


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except Exception:  # noqa: BLE001 - whatever the package around it does
        return False


@register(Tags.database)
def hooks_of_newsletters(
    app_configs: Sequence[Any] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """The hooks that newsletters name may be loaded, and can be. (`migrate`, `check --database default`.)"""
    table = Subscribable._meta.db_table
    if "default" not in (databases or ()) or not _has_hooks(table):
        return []
    return [found for row in Subscribable.objects.exclude(hooks="") for found in _newsletter(row)]


def _has_hooks(table: str) -> bool:
    """Whether the database has come so far; before its first migration it has not."""
    database = connections["default"]
    with database.cursor() as cursor:
        if table not in database.introspection.table_names(cursor):
            return False
        columns = database.introspection.get_table_description(cursor, table)
    return {field.column for field in Subscribable._meta.concrete_fields} <= {one.name for one in columns}


def _newsletter(subscribable: Subscribable) -> list[CheckMessage]:
    try:
        hooks_of(subscribable)
    except HookRefused as error:
        return [
            Warning(
                f"The newsletter {subscribable.name} takes no posts and sends no letters: {error}",
                hint="Allow the module with HOOK_MODULES, mend it, or take it out of the newsletter.",
                id="feedletter.W006",
            )
        ]
    return []
