"""Figures of large tables: counted in the background, and kept for the pages that show them.

A page counts for itself what is not kept: in small tables nothing is.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

# More rows than these take long to count.
LARGE = 20_000

# What is counted of which objects, by their keys; the values are JSON.
Counter = Callable[[], Mapping[int, Any]]
Keeper = Callable[[str, Iterable[int]], Mapping[int, Any]]

_counters: dict[str, Counter] = {}
_keepers: list[Keeper] = []


def add_figures(kind: str, count: Counter) -> None:
    """`count` gives the figures of all objects that have so many rows that no page should count them."""
    _counters[kind] = count


def counters() -> Mapping[str, Counter]:
    return dict(_counters)


def keep_by(keeper: Keeper) -> None:
    """Whoever keeps them says how they are found again: those of that kind with these keys."""
    _keepers[:] = [keeper]


def kept_figures(kind: str, keys: Iterable[int]) -> Mapping[int, Any]:
    """Those that are kept, and young enough to be shown."""
    return _keepers[0](kind, keys) if _keepers else {}
