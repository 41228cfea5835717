"""Passes: runs of a stage, at most about 20 seconds."""

import threading
import time
from collections.abc import Callable
from datetime import timedelta
from functools import wraps

from common.ports.registries import pass_listeners

PASS_BUDGET = timedelta(seconds=20)

_running: dict[str, float] = {}
_here = threading.local()


class TimeBudget:
    """None: no limit."""

    def __init__(self, length: timedelta | None) -> None:
        self._end = None if length is None else time.monotonic() + length.total_seconds()

    @property
    def is_limited(self) -> bool:
        return self._end is not None

    @property
    def is_spent(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def skip_if_running(function: Callable[[], object]) -> Callable[[], None]:
    """Make a call do nothing while another one runs in this process.

    Beat ticks every second and a pass may take twenty: one slow stage would occupy all threads of the worker.
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
            for listener in pass_listeners:
                listener(stage)

    return pass_or_return


def note_progress() -> None:
    if (stage := getattr(_here, "stage", None)) is not None:
        _running[stage] = time.monotonic()


def longest_running() -> float:
    """Return seconds."""
    begun = list(_running.values())
    return time.monotonic() - min(begun) if begun else 0.0
