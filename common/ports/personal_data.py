"""The port for personal data: each app lists its own rows about a person, and erases them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

ROWS_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class PersonalDataSource:
    """One sort of rows about destinations. `key` names it for programs, `title` for people.

    `query` gives those of one destination, newest first, as a QuerySet of mappings (`values()`). `columns`
    are the values that a page shows, with their titles; `words` are what people read instead of values such
    as "failed".
    `erase` gets destinations, in a transaction. It deletes their rows, or takes out everything that tells
    whom they were about, and returns how many rows there were. A second time it finds only newer rows.
    """

    key: str
    title: Any
    columns: Mapping[str, Any]
    query: Callable[[Any], Any]
    erase: Callable[[Sequence[Any], datetime], int]
    words: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, destination: Any) -> Iterator[Mapping[str, object]]:
        """Read one by one, as they are needed: there may be very many."""
        return iter(self.query(destination).iterator(chunk_size=ROWS_AT_ONCE))

    def count(self, destination: Any) -> int:
        return int(self.query(destination).count())


_holdings: list[PersonalDataSource] = []


def add_holding(holding: PersonalDataSource) -> None:
    """Called in AppConfig.ready(). Sources of later apps come after those that their rows point to."""
    _holdings.append(holding)


def holdings() -> tuple[PersonalDataSource, ...]:
    """In the order in which they are shown. They are erased the other way round."""
    return tuple(_holdings)
