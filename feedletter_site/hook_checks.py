import importlib.util
import re
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import connections

from common.checks import OWN_CHECKS
from common.ports.hooks import HookRefused
from subscriptions.models import Subscribable
from subscriptions.newsletters.own_code import hooks_of

_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*")


@register(OWN_CHECKS)
def hook_modules(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    messages: list[CheckMessage] = []
    for name in settings.HOOK_MODULES:
        if not _DOTTED.fullmatch(name):
            error = Error(
                f"HOOK_MODULES is wrong: “{name}” is not the name of a Python module.",
                hint="Separate names with commas, such as my_hooks,our_letters.hooks",
                id="feedletter.E001",
            )
            messages.append(error)
            continue
        try:
            is_there = importlib.util.find_spec(name) is not None
        except Exception:  # noqa: BLE001 - the package around it is loaded, and may raise anything
            is_there = False
        if not is_there:
            warning = Warning(
                f"HOOK_MODULES names “{name}”, which is not there.",
                hint="It must be on Python's path. Install it, or set PYTHONPATH.",
                id="feedletter.W005",
            )
            messages.append(warning)
    return messages


@register(Tags.database)
def hooks_of_newsletters(
    app_configs: Sequence[Any] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Run by `migrate` and `check --database default`."""
    table = Subscribable._meta.db_table
    if "default" not in (databases or ()) or not _has_hooks(table):
        return []
    messages: list[CheckMessage] = []
    for newsletter in Subscribable.objects.exclude(hooks=""):
        try:
            hooks_of(newsletter)
        except HookRefused as error:
            warning = Warning(
                f"The newsletter {newsletter.name} takes no posts and sends no issues: {error}",
                hint="Allow the module with HOOK_MODULES, fix it, or remove it from the newsletter.",
                id="feedletter.W006",
            )
            messages.append(warning)
    return messages


def _has_hooks(table: str) -> bool:
    """The columns are missing before the migrations."""
    database = connections["default"]
    with database.cursor() as cursor:
        if table not in database.introspection.table_names(cursor):
            return False
        columns = database.introspection.get_table_description(cursor, table)
    return {field.column for field in Subscribable._meta.concrete_fields} <= {one.name for one in columns}
