"""Many rows, a bounded number at a time."""

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batched(rows: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The rows in their order, `size` at a time and the last ones fewer; nothing where there are none."""
    return (rows[start : start + size] for start in range(0, len(rows), size))
