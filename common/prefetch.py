from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Item = TypeVar("Item")
_END = object()


def prefetch(items: Iterator[Item]) -> Iterator[Item]:
    """Make the next item in a thread; `items` must not use the database."""
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, items, _END)
        while (item := following.result()) is not _END:
            following = pool.submit(next, items, _END)
            yield cast(Item, item)
