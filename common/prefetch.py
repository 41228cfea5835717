"""Makes the next item while one is used."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Item = TypeVar("Item")
_END = object()


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """The items. A thread makes the next one meanwhile, so `items` must not use the database."""
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, items, _END)
        while (item := following.result()) is not _END:
            following = pool.submit(next, items, _END)
            yield cast(Item, item)
