"""Personal data: each app lists and erases its own rows about a person."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

ROWS_AT_ONCE = 1_000
MOST_ROWS = 100_000


@dataclass(frozen=True, slots=True)
class HeldRows:
    """`query` returns mappings (`values()`), newest first; `key` is for programs."""

    key: str
    query: Callable[[Any], Any]

    def rows(self, person: Any) -> Iterator[Mapping[str, object]]:
        return iter(self.query(person).iterator(chunk_size=ROWS_AT_ONCE))

    def count(self, person: Any) -> int:
        return int(self.query(person).count())


@dataclass(frozen=True, slots=True)
class PersonalDataSource(HeldRows):
    """Rows of one sort about destinations.

    `columns` are shown values and their titles; `words` replace values such as "failed". `erase` gets
    destinations, in a transaction, deletes or anonymizes their rows and returns their number. It must be
    repeatable.
    """

    title: Any
    columns: Mapping[str, Any]
    erase: Callable[[Sequence[Any], datetime], int]
    words: Mapping[str, Any] = field(default_factory=dict)


def rows_as_json(head: Mapping[str, object], sources: Iterable[HeldRows], person: Any) -> Iterator[str]:
    """Yield one JSON document with the newest MOST_ROWS of each sort."""
    yield "{\n" + ",\n".join(f"{_json(name)}: {_json(value)}" for name, value in head.items())
    for source in sources:
        yield f",\n{_json(source.key)}: ["
        for number, row in enumerate(islice(source.rows(person), MOST_ROWS)):
            yield (",\n" if number else "\n") + _json(dict(row))
        yield "\n]"
        if (more := source.count(person) - MOST_ROWS) > 0:
            yield f",\n{_json(f'{source.key}_left_out')}: {more}"
    yield "\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)


_sources: list[PersonalDataSource] = []


def add_holding(holding: PersonalDataSource) -> None:
    """Call in AppConfig.ready(), after the sources to whose rows these rows point."""
    _sources.append(holding)


def personal_data() -> tuple[PersonalDataSource, ...]:
    """Return them in display order; erase in reverse."""
    return tuple(_sources)
