"""Check that this release can use the database.

Before the first release migrations were rewritten in place, so older databases lack tables and columns.
"""

import re
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

OUR_APPS = ("common", "feeds", "subscriptions", "delivery", "reader", "chat", "feedletter_site")
WAY_OUT = (
    "It cannot be upgraded. With the program that made it, export the feeds (export_opml) and the "
    "subscribers (export_subscribers), then begin with an empty database: docs/operating/upgrade.md."
)
# The end of a migration's name: the oldest release that may run when it is applied.
OLDEST = re.compile(r"_beside_(\d+)_(\d+)_(\d+)\Z")


def too_new(connection: BaseDatabaseWrapper) -> str:
    """Return why this release may not run with the database, or ""."""
    # Without loading the migrations, which would cost each worker 3 MB.
    for app, name in sorted(MigrationRecorder(connection).applied_migrations()):
        is_unknown = app in OUR_APPS and find_spec(f"{app}.migrations.{name}") is None
        if is_unknown and not may_run_beside(name, settings.VERSION):
            # Its migrations had other names then.
            return too_old_database(connection) or (
                f"A newer release than {settings.VERSION} has upgraded this database (with {app}.{name}). "
                "Run that release, or restore the backup made before the upgrade: docs/operating/upgrade.md."
            )
    return ""


def may_run_beside(migration: str, release: str) -> bool:
    """Return whether the release may run when this migration, which it doesn't know, is applied."""
    oldest = OLDEST.search(migration)
    return oldest is not None and numbers(release) >= tuple(map(int, oldest.groups()))


def numbers(release: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", release)[:3]))


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    loader = MigrationLoader(connection)
    applied = [node for node in loader.applied_migrations if node in loader.graph.nodes]
    if not any(app in OUR_APPS for app, _ in applied):
        return []
    state: Any = loader.project_state(applied)
    models = state.apps.get_models(include_auto_created=True)
    lacking: list[str] = []
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for meta in (model._meta for model in models if model._meta.app_label in OUR_APPS):
            table = meta.db_table
            if table not in tables:
                lacking.append(f"the table {table}")
                continue
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            columns = (field.column for field in meta.concrete_fields)
            lacking += [f"the column {column} of {table}" for column in columns if column not in there]
    return lacking


def too_old_database(connection: BaseDatabaseWrapper) -> str:
    """Return why migrations cannot upgrade this database, or ""."""
    lacking = missing(connection)
    if not lacking:
        return ""
    what = f"{lacking[0]} and {len(lacking) - 1} more are" if len(lacking) > 1 else f"{lacking[0]} is"
    return f"This database was made before the first release: {what} missing. {WAY_OUT}"


def unfit(connection: BaseDatabaseWrapper) -> str:
    """Return why this release can't use the database, or ""."""
    return too_new(connection) or too_old_database(connection)
