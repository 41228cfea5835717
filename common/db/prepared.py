"""Statements that are asked all the time: PostgreSQL plans each once for a connection, Django makes it once.

Django's own are sent with their values written into them, and planned anew every time, which takes longer
than to carry them out. To make the SQL of a row with fifty columns takes ten times as long as to ask it.
"""

import threading
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

# Stands where the value will.
PLACE = "the value that is looked up"


def rows_of(connection: BaseDatabaseWrapper, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """The rows that a statement gives. Raises Django's database errors.

    Not for what a table's size or its values decide how to look for: the plan stays.
    """
    # (Where questions are logged, these are, too.)
    if connection.vendor != "postgresql" or connection.queries_logged:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
    # (Five megabytes, for whom another database is enough.)
    import psycopg

    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return list(cursor.execute(statement, values, prepare=True).fetchall())


Row = TypeVar("Row", bound=models.Model)


class _Question(NamedTuple):
    sql: str
    params: tuple[Any, ...]
    fields: list[str]
    converters: Any
    compiler: Any
    model: Any
    using: str


class Prepared(Generic[Row]):
    """`rows` gives the query for a text value; it may filter by it, and by nothing that changes."""

    def __init__(self, rows: Callable[[str], "models.QuerySet[Row]"]) -> None:
        self._rows = rows
        # A question keeps the connection it was made for, and that is its thread's own.
        self._made = threading.local()

    def first(self, value: str) -> Row | None:
        """The row of that value, if there is one; with several, any."""
        if not hasattr(self._made, "question"):
            self._made.question = _question(self._rows(PLACE))
        question: _Question = self._made.question
        values = [value if each == PLACE else each for each in question.params]
        found = rows_of(connections[question.using], question.sql, values)
        row: Row | None = _row(question, found[0]) if found else None
        return row


def _question(rows: "models.QuerySet[Any]") -> _Question:
    compiler = rows.query.get_compiler(rows.db)
    sql, params = compiler.as_sql()
    columns = [column for column, _, _ in compiler.select]
    fields = [column.target.attname for column in columns]
    converters = compiler.get_converters(columns)
    return _Question(sql, tuple(params), fields, converters, compiler, rows.model, rows.db)


def _row(question: _Question, values: Any) -> Any:
    if question.converters:
        (values,) = question.compiler.apply_converters([values], question.converters)
    return question.model.from_db(question.using, question.fields, values)
