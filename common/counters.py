"""Event counters, written to the database from time to time.

A killed process loses its last seconds: use them for plots, not for decisions.
"""

import threading
from collections import Counter

from common.ports.registries import count_writers

Key = tuple[str, str]

_counts: Counter[Key] = Counter()
_lock = threading.Lock()


def count(name: str, label: str = "", by: int = 1) -> None:
    if by:
        with _lock:
            _counts[name, label] += by


def flush() -> None:
    """If one of the writers fails, keep the counts."""
    with _lock:
        taken = dict(_counts)
        _counts.clear()
    if not taken:
        return
    try:
        for writer in count_writers:
            writer(taken)
    except Exception:
        with _lock:
            _counts.update(taken)
        raise
