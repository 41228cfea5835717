"""Frequent statements, planned once per connection and compiled once.

Django sends values within the statement, so PostgreSQL plans it every time, which takes longer than to
execute it. Compiling SQL for fifty columns takes ten times as long as running it.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

PLACE = "the value that is looked up"
# Stands for the time in compiled statements.
MOMENT = datetime(2222, 7, 1, tzinfo=UTC)


def rows_of(connection: BaseDatabaseWrapper, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Run a prepared statement. Raises Django's database errors.

    Not for a statement whose best plan depends on the table's size or the values.
    """
    if connection.vendor != "postgresql" or connection.queries_logged:
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return list(cursor.fetchall())
    # Costs 5 MB, and SQLite does not need it.
    import psycopg

    connection.close_if_health_check_failed()
    connection.ensure_connection()
    connection.validate_no_broken_transaction()
    with connection.wrap_database_errors, psycopg.Cursor(connection.connection) as cursor:
        return list(cursor.execute(statement, values, prepare=True).fetchall())


RowModel = TypeVar("RowModel", bound=models.Model)


class _Question(NamedTuple):
    sql: str
    params: tuple[Any, ...]
    fields: list[str]
    converters: Any
    compiler: Any
    model: Any
    using: str


class Prepared(Generic[RowModel]):
    """First row for a text value. `rows` may filter by it and by constants only."""

    def __init__(self, rows: Callable[[str], "models.QuerySet[RowModel]"]) -> None:
        self._rows = rows
        # A compiled statement keeps its connection, which belongs to one thread.
        self._made = threading.local()

    def first(self, value: str) -> RowModel | None:
        if not hasattr(self._made, "question"):
            rows = self._rows(PLACE)
            compiler = rows.query.get_compiler(rows.db)
            sql, params = compiler.as_sql()
            columns = [column for column, _, _ in compiler.select]
            fields = [column.target.attname for column in columns]
            converters = compiler.get_converters(columns)
            self._made.question = _Question(
                sql, tuple(params), fields, converters, compiler, rows.model, rows.db
            )
        question: _Question = self._made.question
        values = [value if each == PLACE else each for each in question.params]
        rows_found = rows_of(connections[question.using], question.sql, values)
        if not rows_found:
            return None
        columns_found: Any = rows_found[0]
        if question.converters:
            (columns_found,) = question.compiler.apply_converters([columns_found], question.converters)
        row: RowModel = question.model.from_db(question.using, question.fields, columns_found)
        return row


class _Distance(NamedTuple):
    from_now: timedelta


class AnyRows:
    """Whether one of a question's querysets has a row now.

    Ticks ask it every second, so it is compiled once, and may filter by the given time and constants only.
    """

    def __init__(self, *questions: Callable[[datetime], "Iterable[models.QuerySet[Any]]"]) -> None:
        self._questions = questions
        self._compiled: tuple[str, list[Any]] | None = None

    def at(self, now: datetime) -> bool:
        return any(self.each_at(now))

    def each_at(self, now: datetime) -> Sequence[bool]:
        connection = connections[DEFAULT_DB_ALIAS]
        statement, params = self._compiled = self._compiled or self._compile()
        adapt = connection.ops.adapt_datetimefield_value
        values = [adapt(now + value.from_now) if isinstance(value, _Distance) else value for value in params]
        with connection.cursor() as cursor:
            cursor.execute(statement, values)
            return cursor.fetchone()  # type: ignore[no-any-return]

    def _compile(self) -> tuple[str, list[Any]]:
        columns, params = [], []
        for question in self._questions:
            parts = [each.query.exists().get_compiler(DEFAULT_DB_ALIAS).as_sql() for each in question(MOMENT)]
            columns.append(" OR ".join(f"EXISTS ({sql})" for sql, _ in parts))
            params += [_since_moment(value) for _, values in parts for value in values]
        return f"SELECT {', '.join(columns)}", params


def _since_moment(value: Any) -> Any:
    # SQLite's times are texts.
    if isinstance(value, str) and value.startswith(f"{MOMENT.year}-"):
        value = datetime.fromisoformat(value).replace(tzinfo=UTC)
    return _Distance(value - MOMENT) if isinstance(value, datetime) else value
