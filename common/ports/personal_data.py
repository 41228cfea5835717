"""The port for personal data: each app lists its own rows about a person, and erases them."""

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
    """One sort of rows about somebody. `key` names it for programs.

    `query` gives those of one person, newest first, as a QuerySet of mappings (`values()`).
    """

    key: str
    query: Callable[[Any], Any]

    def rows(self, person: Any) -> Iterator[Mapping[str, object]]:
        """Read one by one, as they are needed: there may be very many."""
        return iter(self.query(person).iterator(chunk_size=ROWS_AT_ONCE))

    def count(self, person: Any) -> int:
        return int(self.query(person).count())


@dataclass(frozen=True, slots=True)
class PersonalDataSource(HeldRows):
    """One sort of rows about destinations.

    `title` names it for people. `columns` are the values that a page shows, with their titles; `words` are
    what people read instead of values such as "failed".
    `erase` gets destinations, in a transaction. It deletes their rows, or takes out everything that tells
    whom they were about, and returns how many rows there were. A second time it finds only newer rows.
    """

    title: Any
    columns: Mapping[str, Any]
    erase: Callable[[Sequence[Any], datetime], int]
    words: Mapping[str, Any] = field(default_factory=dict)


def rows_as_json(head: Mapping[str, object], sources: Iterable[HeldRows], person: Any) -> Iterator[str]:
    """One JSON document in pieces, with a row a line; of each sort at most MOST_ROWS, the newest."""
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
    """Called in AppConfig.ready(). Sources of later apps come after those that their rows point to."""
    _sources.append(holding)


def personal_data() -> tuple[PersonalDataSource, ...]:
    """In the order in which they are shown. They are erased the other way round."""
    return tuple(_sources)
