import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Kept(Generic[T]):
    value: T
    size: int
    until: float


class TtlCache(Generic[T]):
    """Least-recently-used cache of `room` bytes or characters."""

    def __init__(
        self,
        *,
        room: int,
        seconds: float,
        size: Callable[[T], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._room, self._seconds, self._size, self._clock = room, seconds, size, clock
        self._kept: OrderedDict[str, _Kept[T]] = OrderedDict()
        self._used = 0
        self._lock = Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """Two threads may both make the value."""
        with self._lock:
            entry = self._kept.get(key)
            if entry is not None and entry.until > self._clock():
                self._kept.move_to_end(key)
                return entry.value
        value = make()
        size = self._size(value)
        with self._lock:
            self._take_down(key)
            if size <= self._room:
                while self._used + size > self._room:
                    self._take_down(next(iter(self._kept)))
                self._kept[key] = _Kept(value, size, self._clock() + self._seconds)
                self._used += size
        return value

    @property
    def used(self) -> int:
        return self._used

    def forget(self, key: str) -> None:
        with self._lock:
            self._take_down(key)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
            self._used = 0

    def _take_down(self, key: str) -> None:
        gone = self._kept.pop(key, None)
        self._used -= gone.size if gone else 0
