"""Rows looked up by one value, with SQL that is made once: what every page begins with.

To make the SQL of a row with fifty columns takes ten times as long as to ask it.
"""

import threading
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from django.db import connections, models

from common.statements import rows_of

Row = TypeVar("Row", bound=models.Model)
# Stands where the value will.
PLACE = "the value that is looked up"


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
