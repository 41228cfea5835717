"""Counts events in memory, and adds them to the database's numbers now and then.

Any process counts; `feedletter_site` says how the numbers are stored. A killed process loses the counts of
its last seconds: the numbers are for plots, not for decisions.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping

Key = tuple[str, str]

_counts: Counter[Key] = Counter()
_lock = threading.Lock()
_writers: list[Callable[[Mapping[Key, int]], None]] = []


def count(name: str, label: str = "", by: int = 1) -> None:
    """Adds to the number of that name and label."""
    if by:
        with _lock:
            _counts[name, label] += by


def write_with(writer: Callable[[Mapping[Key, int]], None]) -> None:
    """Adds a function that stores the numbers. All of them are called."""
    _writers.append(writer)


def flush() -> None:
    """Hands the counts to the writers. If one fails, they are kept for the next time."""
    with _lock:
        taken = dict(_counts)
        _counts.clear()
    if not taken:
        return
    try:
        for writer in _writers:
            writer(taken)
    except Exception:
        with _lock:
            _counts.update(taken)
        raise
