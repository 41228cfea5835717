"""Personal data: each app lists and erases its own rows about a person."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q, QuerySet

ROWS_AT_ONCE = 1_000
MOST_ROWS = 100_000


def by(*lookups: str) -> Callable[[Sequence[Any]], Q]:
    """Find rows about people by lookups that lead to their keys."""
    return lambda people: reduce(or_, (Q(**{f"{name}__in": [one.pk for one in people]}) for name in lookups))


@dataclass(frozen=True, slots=True)
class HeldRows:
    """Rows of one sort about people.

    `key` is for programs. `every` are all rows as mappings (`values()`), newest first; `about` finds those
    about people. Pages show the values in `columns` with these titles; `words` replace values such as
    "failed". `eraser` deletes or anonymizes in a transaction and returns the number of rows. It must be
    repeatable. By default the rows are deleted.
    """

    key: str
    every: "QuerySet[Any, Any]"
    about: Callable[[Sequence[Any]], Q]
    title: Any = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    words: Mapping[str, Any] = field(default_factory=dict)
    eraser: Callable[[Sequence[Any], datetime], int] | None = None

    def query(self, person: Any) -> "QuerySet[Any, Any]":
        return self.every.filter(self.about([person]))

    def rows(self, person: Any) -> Iterator[Mapping[str, object]]:
        return iter(self.query(person).iterator(chunk_size=ROWS_AT_ONCE))

    def count(self, person: Any) -> int:
        return self.query(person).count()

    def erase(self, people: Sequence[Any], now: datetime) -> int:
        if self.eraser is not None:
            return self.eraser(people, now)
        rows: QuerySet[Any] = self.every.model._default_manager.filter(self.about(people))
        return rows.delete()[0]


# About destinations, in display order; erased in reverse. Apps add theirs in AppConfig.ready(), after those
# to whose rows their rows point.
sources: list[HeldRows] = []


def rows_as_json(head: Mapping[str, object], held: Iterable[HeldRows], person: Any) -> Iterator[str]:
    """Yield one JSON document with the newest MOST_ROWS of each sort."""
    yield "{\n" + ",\n".join(f"{_json(name)}: {_json(value)}" for name, value in head.items())
    for source in held:
        yield f",\n{_json(source.key)}: ["
        for number, row in enumerate(islice(source.rows(person), MOST_ROWS)):
            yield (",\n" if number else "\n") + _json(dict(row))
        yield "\n]"
        if (more := source.count(person) - MOST_ROWS) > 0:
            yield f",\n{_json(f'{source.key}_left_out')}: {more}"
    yield "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
