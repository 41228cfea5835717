"""What happened since the start, counted in memory and added to the database's numbers now and then.

Any process counts; `feedletter_site` says how it is written down. What a killed process had counted in its
last seconds is lost: numbers for plots, not for decisions.
"""

import threading
from collections import Counter
from collections.abc import Callable, Mapping

Key = tuple[str, str]

_counts: Counter[Key] = Counter()
_lock = threading.Lock()
_writers: list[Callable[[Mapping[Key, int]], None]] = []


def count(name: str, label: str = "", by: int = 1) -> None:
    """Adds to a number, by its name and the one label that divides it."""
    if by:
        with _lock:
            _counts[name, label] += by


def write_with(writer: Callable[[Mapping[Key, int]], None]) -> None:
    """Says who writes numbers down. Replaces nobody: all are called."""
    _writers.append(writer)


def flush() -> None:
    """Hands over what was counted. What a writer fails to write is counted again next time."""
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
