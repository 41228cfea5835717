"""Event counters, written to the database from time to time.

A killed process loses its last seconds: use them for plots, not for decisions.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping

Key = tuple[str, str]

_counts: Counter[Key] = Counter()
_lock = threading.Lock()
_writers: list[Callable[[Mapping[Key, int]], None]] = []


def count(name: str, label: str = "", by: int = 1) -> None:
    if by:
        with _lock:
            _counts[name, label] += by


def write_with(writer: Callable[[Mapping[Key, int]], None]) -> None:
    _writers.append(writer)


def flush() -> None:
    """If one of the writers fails, keep the counts."""
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
