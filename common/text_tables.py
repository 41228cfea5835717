"""Rows of cells as columns of text."""

import unicodedata
from collections.abc import Sequence

GAP = "  "
MOST_COLUMNS = 8


def columns(rows: Sequence[Sequence[str]], *, has_head: bool, width: int) -> list[str] | None:
    """The rows with their columns aligned, a line under the head; None when they need more than `width`."""
    count = max(map(len, rows), default=0)
    if not 1 < count <= MOST_COLUMNS:
        return None
    full = [[*row, *[""] * (count - len(row))] for row in rows]
    widths = [max(_width(row[at]) for row in full) for at in range(count)]
    if sum(widths) + len(GAP) * (count - 1) > width:
        return None
    lines = [GAP.join(map(_padded, row, widths)).rstrip() for row in full]
    if has_head:
        lines.insert(1, GAP.join("-" * max(1, each) for each in widths))
    return lines


def _padded(text: str, width: int) -> str:
    return text + " " * (width - _width(text))


def _width(text: str) -> int:
    """In places of a terminal: wide letters take two, marks that join another none."""
    return sum(_places(character) for character in text)


def _places(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1
