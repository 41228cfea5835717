import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Generic, TypeVar

from cachetools import TTLCache

T = TypeVar("T")


class TtlCache(Generic[T]):
    """Least-recently-used cache of `room` bytes or characters, for several threads."""

    def __init__(
        self,
        *,
        room: int,
        seconds: float,
        size: Callable[[T], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kept: TTLCache[str, T] = TTLCache(room, seconds, timer=clock, getsizeof=size)
        self._lock = Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Two threads may both make the value."""
        with self._lock, suppress(KeyError):
            return self._kept[key]
        value = make()
        # A value that is larger than the room is refused.
        with self._lock, suppress(ValueError):
            self._kept[key] = value
        return value

    @property
    def used(self) -> float:
        return self._kept.currsize

    def forget(self, key: str) -> None:
        with self._lock:
            self._kept.pop(key, None)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
