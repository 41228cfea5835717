"""Processor time of a process and all below it."""

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def spent(by_name: dict[str, float]) -> Iterator[None]:
    """Add the seconds that each program below this process takes meanwhile, by its name."""
    before = seconds(os.getpid())
    yield
    for name, time in seconds(os.getpid()).items():
        by_name[name] += time - before[name]


def seconds(root: int) -> dict[str, float]:
    """Seconds by name, with ended processes counted where they were waited for."""
    rows, below = {}, {root}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(")")
        except OSError:
            continue
        rows[int(folder.name)] = head.partition("(")[2], tail.split()
    by_name = defaultdict[str, float](float)
    # Children have greater numbers, until these begin anew.
    for pid in sorted(rows):
        name, fields = rows[pid]
        if pid in below or int(fields[1]) in below:
            below.add(pid)
            by_name[name if pid != root else "worker"] += sum(map(int, fields[11:15])) / _TICKS
    return by_name
