"""A pass: one run of a stage, as long as there is work and not much longer than twenty seconds."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import wraps

PASS_BUDGET = timedelta(seconds=20)


def single_pass(function: Callable[[], object]) -> Callable[[], None]:
    """Makes calls that come while one is running return at once, doing nothing (in this process).

    Beat ticks every second and a pass may take twenty: without this the ticks of one slow stage
    would take all threads of the worker, and no other stage would move.
    """
    busy = threading.Lock()

    @wraps(function)
    def pass_or_return() -> None:
        if busy.acquire(blocking=False):
            try:
                function()
            finally:
                busy.release()

    return pass_or_return
