"""The port for what is held about a person: each app tells of its own rows, and erases them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Holding:
    """One sort of rows about destinations. `key` names it for programs, `title` for people.

    `rows` gives those of one destination, newest first, `count` says how many. `columns` are the values that
    a page shows, with their titles; `words` are what people read instead of values such as "failed".
    `erase` gets destinations, in a transaction: it deletes, or empties of all that tells whom it was about,
    and returns how many rows that were. A second time it finds only what came in since then.
    """

    key: str
    title: Any
    columns: Mapping[str, Any]
    rows: Callable[[Any], Iterable[Mapping[str, object]]]
    count: Callable[[Any], int]
    erase: Callable[[Sequence[Any], datetime], int]
    words: Mapping[str, Any] = field(default_factory=dict)


_holdings: list[Holding] = []


def add_holding(holding: Holding) -> None:
    """Called in AppConfig.ready(): those of later apps come after those that they point to."""
    _holdings.append(holding)


def holdings() -> tuple[Holding, ...]:
    """In the order in which they are shown. They are erased the other way round."""
    return tuple(_holdings)
