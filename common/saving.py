"""Saving new rows that every reader causes."""

from collections.abc import Callable, Sequence
from typing import Any

from django.db import connections, models, router

from common.statements import rows_of


def save_new(rows: Sequence[models.Model]) -> None:
    """Inserts new rows of one model by one statement, and gives them their keys. No signals.

    (`bulk_create` takes 0.8 ms for a single row, and this a quarter of it: for what every reader causes.)
    """
    if not rows:
        return
    model = type(rows[0])
    connection = connections[router.db_for_write(model)]
    fields = [field for field in model._meta.concrete_fields if not field.primary_key]
    statement = _insert(model, fields, len(rows), connection.ops.quote_name)
    values = [_prepared(field, row, connection) for row in rows for field in fields]
    for row, (key,) in zip(rows, rows_of(connection, statement, values), strict=True):
        row.pk = key
        row._state.adding, row._state.db = False, connection.alias


def _insert(model: type[models.Model], fields: Sequence[Any], count: int, quote: Callable[[str], str]) -> str:
    columns = ", ".join(quote(field.column) for field in fields)
    row = f"({', '.join(['%s'] * len(fields))})"
    key: Any = model._meta.pk
    return (
        f"INSERT INTO {quote(model._meta.db_table)} ({columns}) VALUES {', '.join([row] * count)} "  # noqa: S608
        f"RETURNING {quote(key.column)}"
    )


def _prepared(field: Any, row: models.Model, connection: Any) -> Any:
    return field.get_db_prep_save(field.pre_save(row, True), connection)
