"""Bounds the processor time of a document's thread: it is checked at each element and each post."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from feeds.parsing.entry import ParseError

# On an ordinary machine the most expensive document of an allowed size (5 MB of tiny posts) takes five.
PROCESSOR_SECONDS = 20.0
TOO_DEAR = (
    "Reading the feed takes more than {:g} seconds of the processor, which can be an attack. Ask its"
    " publisher for a shorter one."
)


@dataclass(frozen=True, slots=True)
class Allowance:
    """`clock` counts the seconds used; it showed `began` at the beginning."""

    seconds: float
    clock: Callable[[], float]
    began: float

    def check(self) -> None:
        """Raises ParseError when it is used up."""
        if self.clock() - self.began > self.seconds:
            raise ParseError(TOO_DEAR.format(self.seconds))


_current: ContextVar[Allowance | None] = ContextVar("allowance", default=None)


@contextmanager
def allowance(seconds: float | None = None, clock: Callable[[], float] | None = None) -> Iterator[None]:
    """For what the block reads: PROCESSOR_SECONDS of this thread's processor time, if it is not said."""
    clock = clock or time.thread_time
    token = _current.set(Allowance(PROCESSOR_SECONDS if seconds is None else seconds, clock, clock()))
    try:
        yield
    finally:
        _current.reset(token)


def check_allowance() -> None:
    """Raises ParseError when the allowance in force is used up."""
    ours = _current.get()
    if ours is not None:
        ours.check()
