"""A pass is one run of a stage: it lasts while there is work, and not much longer than twenty seconds."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps

PASS_BUDGET = timedelta(seconds=20)

_running: dict[str, float] = {}
# The stage whose pass runs in this thread.
_here = threading.local()
_listeners: list[Callable[[str], None]] = []


class TimeBudget:
    """How long a piece of work may go on. None: until it is done."""

    def __init__(self, length: timedelta | None) -> None:
        self._end = None if length is None else time.monotonic() + length.total_seconds()

    @property
    def is_limited(self) -> bool:
        return self._end is not None

    @property
    def is_spent(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def skip_if_running(function: Callable[[], object]) -> Callable[[], None]:
    """Makes calls that come while one is running return at once, doing nothing (in this process).

    Beat ticks every second and a pass may take twenty: without this the ticks of one slow stage
    would take all threads of the worker, and no other stage would move.
    """
    busy = threading.Lock()
    stage = f"{function.__module__.partition('.')[0]}.{function.__name__}"

    @wraps(function)
    def pass_or_return() -> None:
        if busy.acquire(blocking=False):
            _running[stage], _here.stage = time.monotonic(), stage
            try:
                function()
            finally:
                _here.stage = None
                del _running[stage]
                busy.release()
            for listener in _listeners:
                listener(stage)

    return pass_or_return


def note_progress() -> None:
    """Count the pass in this thread as begun now: it works as it should, however long it takes."""
    if (stage := getattr(_here, "stage", None)) is not None:
        _running[stage] = time.monotonic()


def when_passed(listener: Callable[[str], None]) -> None:
    """Calls it with the stage's name after each pass that ended well."""
    _listeners.append(listener)


def longest_running() -> float:
    """For how many seconds the oldest pass of this process has been running; 0 without one."""
    begun = list(_running.values())
    return time.monotonic() - min(begun) if begun else 0.0
