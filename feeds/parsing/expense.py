import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from feeds.parsing.entry import ParseError

# The most expensive document of 5 MB takes five on an ordinary machine.
PROCESSOR_SECONDS = 20.0
TOO_DEAR = (
    "Reading the feed takes more than {:g} seconds of the processor, which can be an attack. Ask its"
    " publisher for a shorter one."
)
# Seconds, the clock, and when it began.
_current: ContextVar[tuple[float, Callable[[], float], float] | None] = ContextVar("cpu_limit", default=None)


@contextmanager
def cpu_limit(seconds: float | None = None, clock: Callable[[], float] | None = None) -> Iterator[None]:
    """Limit the CPU time of this thread."""
    clock = clock or time.thread_time
    token = _current.set((PROCESSOR_SECONDS if seconds is None else seconds, clock, clock()))
    try:
        yield
    finally:
        _current.reset(token)


def check_allowance() -> None:
    """Raise ParseError when it is used up."""
    if (limit := _current.get()) is not None:
        seconds, clock, began = limit
        if clock() - began > seconds:
            raise ParseError(TOO_DEAR.format(seconds))
