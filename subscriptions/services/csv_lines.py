"""Lists as CSV: columns by header, comma, semicolon or tab, with or without a byte order mark."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError

from subscriptions.rules.list_headings import HEADER

if TYPE_CHECKING:
    from _csv import Reader

# The line a record begins on (the header is 1), and its cells or what is wrong with it.
Record = tuple[int, list[str] | str]
SEPARATORS = ",;\t"


@dataclass(frozen=True, slots=True)
class Head:
    """The first line of a list: the names of its columns, and where the next line stands."""

    names: tuple[str, ...]
    separator: str
    next_line: int = 2


def read_head(lines: Iterator[str]) -> Head:
    """Takes the header off the lines. Raises ValidationError for none that can be read."""
    first = next(lines, "").removeprefix("\ufeff")
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(chain([first], lines), delimiter=separator)
    try:
        names = tuple(name.strip() for name in next(reader, []))
    except csv.Error as error:
        raise ValidationError(HEADER) from error
    return Head(names, separator, reader.line_num + 1)


def records(lines: Iterator[str], head: Head, *, line: int = 0) -> Iterator[Record]:
    """The records that follow, without blank lines; `line` is the next one's number, if not the head says it.

    Takes no more lines than a record has before it hands that out.
    """
    begin = (line or head.next_line) - 1
    return _records(csv.reader(lines, delimiter=head.separator), len(head.names), begin)


def named_records(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The records of a whole list whose columns have our own names. Raises ValidationError for another."""
    remaining = iter(lines)
    head = read_head(remaining)
    names = [name.lower() for name in head.names]
    if "email" not in names:
        raise ValidationError(HEADER)
    for line, cells in records(remaining, head):
        yield line, cells if isinstance(cells, str) else dict(zip(names, cells, strict=False))


def _records(reader: "Reader", width: int, begin: int) -> Iterator[Record]:
    while True:
        line = begin + reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error:
            yield line, "it cannot be read as CSV; is a quotation mark not closed?"
            continue
        if cells is None:
            return
        if len(cells) > width:
            yield line, f"it has {len(cells)} columns, the first line {width}; quote values with separators."
        elif any(cell.strip() for cell in cells):
            yield line, cells
