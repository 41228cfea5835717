"""Subscriber lists as CSV: columns by header, comma, semicolon or tab, with or without a byte order mark."""

import csv
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from django.core.exceptions import ValidationError

if TYPE_CHECKING:
    from _csv import Reader

# The line a record begins on (the header is 1), and its columns or what is wrong with it.
Record = tuple[int, dict[str, str] | str]
SEPARATORS = ",;\t"
HEADER = "The first line must name the columns; “email” is needed, “name”, “status” and “added” may follow."


def records(lines: Iterable[str]) -> Iterator[Record]:
    """The records after the header, without blank lines. Raises ValidationError for a header of no use."""
    remaining = iter(lines)
    first = next(remaining, "").removeprefix("\ufeff")
    separator = max(SEPARATORS, key=first.count)
    reader = csv.reader(chain([first], remaining), delimiter=separator)
    names = _header(reader)
    return _records(reader, names)


def _header(reader: "Iterator[list[str]]") -> list[str]:
    try:
        names = [name.strip().lower() for name in next(reader, [])]
    except csv.Error:
        names = []
    if "email" not in names:
        raise ValidationError(HEADER)
    twice = [name for name in names if name and names.count(name) > 1]
    if twice:
        raise ValidationError(f"The first line names the column “{twice[0][:40]}” twice.")
    return names


def _records(reader: "Reader", names: list[str]) -> Iterator[Record]:
    while True:
        line = reader.line_num + 1
        try:
            values = next(reader, None)
        except csv.Error:
            yield line, "it cannot be read as CSV; is a quotation mark not closed?"
            continue
        if values is None:
            return
        if len(values) > len(names):
            yield (
                line,
                f"it has {len(values)} columns, the first line {len(names)}; quote values with separators.",
            )
        elif any(value.strip() for value in values):
            yield line, dict(zip(names, values, strict=False))
