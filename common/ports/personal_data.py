"""The port for what is held about a person: each app tells of its own rows, and erases them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class PersonalDataSource:
    """One sort of rows about destinations. `key` names it for programs, `title` for people.

    `query` gives those of one destination, newest first, as a QuerySet of mappings (`values()`). `columns`
    are the values that a page shows, with their titles; `words` are what people read instead of values such
    as "failed".
    `erase` gets destinations, in a transaction: it deletes, or empties of all that tells whom it was about,
    and returns how many rows that were. A second time it finds only what came in since then.
    """

    key: str
    title: Any
    columns: Mapping[str, Any]
    query: Callable[[Any], Any]
    erase: Callable[[Sequence[Any], datetime], int]
    words: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, destination: Any) -> Iterator[Mapping[str, object]]:
        """They are read as they are asked for: there may be very many."""
        return iter(self.query(destination).iterator(chunk_size=CHUNK))

    def count(self, destination: Any) -> int:
        return int(self.query(destination).count())


_holdings: list[PersonalDataSource] = []


def add_holding(holding: PersonalDataSource) -> None:
    """Called in AppConfig.ready(): those of later apps come after those that they point to."""
    _holdings.append(holding)


def holdings() -> tuple[PersonalDataSource, ...]:
    """In the order in which they are shown. They are erased the other way round."""
    return tuple(_holdings)
