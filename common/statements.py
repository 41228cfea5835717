"""Statements in plain SQL that are asked all the time: PostgreSQL plans each once for a connection.

Django's own are sent with their values written into them, and planned anew every time, which takes longer
than to carry them out.
"""

from collections.abc import Sequence
from typing import Any

import psycopg
from django.db.backends.base.base import BaseDatabaseWrapper


def rows_of(connection: BaseDatabaseWrapper, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows that a statement gives. Raises Django's database errors.

    Not for what a table's size or its values decide how to look for: the plan stays.
    """
    # (Where questions are logged, these are, too.)
    if connection.vendor != "postgresql" or connection.queries_logged:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return list(cursor.execute(statement, values, prepare=True).fetchall())
