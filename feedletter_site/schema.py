"""Whether the tables are what the migrations say that made them.

Before the first release those were rewritten in place: a database that is older has them all marked as
applied, and lacks columns.
"""

from collections.abc import Iterator
from typing import Any

from django.core.management import CommandError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader

OURS = ("feeds", "subscriptions", "delivery", "feedletter_site")
WAY_OUT = (
    "It cannot be upgraded. With the program that made it, export the feeds (export_opml) and the "
    "subscribers (export_subscribers), then begin with an empty database: docs/operating.md#upgrade."
)


def missing(connection: BaseDatabaseWrapper) -> list[str]:
    """The tables and columns that the migrations applied here should have made, and that are not there."""
    loader = MigrationLoader(connection)
    applied = [node for node in loader.applied_migrations if node in loader.graph.nodes]
    if not any(app in OURS for app, _ in applied):
        return []
    return list(_missing(connection, loader.project_state(applied)))


def _missing(connection: BaseDatabaseWrapper, state: Any) -> Iterator[str]:
    with connection.cursor() as cursor:
        tables = set(connection.introspection.table_names(cursor))
        for model in state.apps.get_models(include_auto_created=True):
            table = model._meta.db_table
            if model._meta.app_label not in OURS:
                continue
            if table not in tables:
                yield f"the table {table}"
                continue
            there = {column.name for column in connection.introspection.get_table_description(cursor, table)}
            for field in model._meta.concrete_fields:
                if field.column not in there:
                    yield f"the column {field.column} of {table}"


def too_old(connection: BaseDatabaseWrapper) -> str:
    """A sentence about a database that no migration can help; "" when all is well."""
    lacking = missing(connection)
    if not lacking:
        return ""
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    return f"This database was made before the first release: {lacking[0]}{more} is missing. {WAY_OUT}"


def refuse_too_old(connection: BaseDatabaseWrapper) -> None:
    """Raises CommandError with that sentence."""
    if reason := too_old(connection):
        raise CommandError(reason)
