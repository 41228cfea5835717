"""How long a request may still take, and how much it may bring: one budget for all of its redirects."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RequestDeadline:
    """`ends_at` on the monotonic clock; `max_bytes` of a body after decompression."""

    ends_at: float
    max_bytes: int

    @property
    def seconds_left(self) -> float:
        """Raises TimeoutError when none are left."""
        left = self.ends_at - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


_current: ContextVar[RequestDeadline | None] = ContextVar("budget", default=None)


def current() -> RequestDeadline | None:
    return _current.get()


@contextmanager
def budget(seconds: float, max_bytes: int) -> Iterator[RequestDeadline]:
    """Sets the budget for the block; it cannot exceed that of a block around it."""
    outer, ends_at = _current.get(), time.monotonic() + seconds
    ours = outer or RequestDeadline(ends_at, max_bytes)
    if outer is not None and ends_at < outer.ends_at:
        ours = RequestDeadline(ends_at, outer.max_bytes)
    token = _current.set(ours)
    try:
        yield ours
    finally:
        _current.reset(token)
