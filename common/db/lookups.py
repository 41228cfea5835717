"""Lookup of many values, and SQLite without its memory map.

`in` writes each value into the statement, which must then be parsed every time.
"""

import json
from typing import Any

from django.db import connection
from django.db.models import Field, Lookup
from django.db.models.sql.compiler import SQLCompiler

from common.db.arrays import array_literal


class AnyOf(Lookup):
    """Give it a frozenset: Django looks at every value of a list."""

    lookup_name = "any_of"
    prepare_rhs = False

    def as_sql(self, compiler: SQLCompiler, connection: Any) -> tuple[str, Any]:
        lhs, params = self.process_lhs(compiler, connection)
        values = list(self.rhs)
        if connection.vendor == "sqlite":
            return f"{lhs} IN (SELECT value FROM json_each(%s))", [*params, json.dumps(values)]  # noqa: S608
        kind = self.lhs.output_field.cast_db_type(connection)
        return f"{lhs} = ANY(%s::{kind}[])", [*params, array_literal(values)]


def register() -> None:
    """Call before the first query."""
    Field.register_lookup(AnyOf)


def disable_sqlite_mmap() -> None:
    """For commands that read all rows: SQLite would map 128 MB into memory."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA mmap_size = 0")
