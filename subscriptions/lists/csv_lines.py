import csv
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from django.core.exceptions import ValidationError

from subscriptions.rules.lists.headings import HEADER

# First line (from 1), and cells or an error message.
Record = tuple[int, list[str] | str]
SEPARATORS = ",;\t|"
# Zip files and old workbooks begin so.
WORKBOOKS = ("PK\x03\x04", "\xd0\xcf\x11\xe0", "ÐÏ\x11à")
# Excel reads the separator from such a first line.
_SEPARATOR_LINE = re.compile(r'"?sep=([^\w\s"]|\t)"?[,;\t]*\s*', re.IGNORECASE)
_ADDRESS = re.compile(r"[^\s@<>]@[^\s@<>]+\.[^\s@<>]")


def is_address(text: str) -> bool:
    return bool(_ADDRESS.search(text)) and text.count("@") == 1


@dataclass(frozen=True, slots=True)
class Head:
    """`line` is the next line's number. `is_missing`: the first line must be read again."""

    names: tuple[str, ...]
    separator: str
    next_line: int = 2
    is_missing: bool = False


def split_head(lines: Iterable[str]) -> tuple[Head, Iterator[str]]:
    """Raises ValidationError."""
    remaining = iter(lines)
    begin = list(islice(remaining, 2))
    unread = iter(begin)
    head = read_head(chain(unread, remaining))
    return head, chain(begin if head.is_missing else unread, remaining)


def read_head(lines: Iterator[str]) -> Head:
    """Raises ValidationError.

    A list that begins with an address, such as Mailman's, has no header, and gets column names.
    """
    first = next(lines, "").removeprefix("\ufeff")
    if first.startswith(WORKBOOKS):
        raise ValidationError("This is an Excel workbook or a zip file. Save the list as CSV.")
    skipped = 0
    if named := _SEPARATOR_LINE.fullmatch(first):
        skipped, first = 1, next(lines, "")
    separator = named[1] if named else max(SEPARATORS, key=first.count)
    reader = csv.reader(chain([first], lines), delimiter=separator)
    try:
        names = tuple(name.strip() for name in next(reader, []))
    except csv.Error as error:
        raise ValidationError(HEADER) from error
    addresses = [place for place, name in enumerate(names) if _ADDRESS.search(name)]
    if reader.line_num == 1 and addresses:
        columns = tuple(
            "email" if place == addresses[0] else f"column {place + 1}" for place in range(len(names))
        )
        return Head(columns, separator, 1, is_missing=True)
    return Head(names, separator, skipped + reader.line_num + 1)


def records(lines: Iterator[str], head: Head, *, line: int = 0) -> Iterator[Record]:
    """Yield the records, without blank lines. `line` is the next one's number.

    Drops empty cells beyond the header's, as spreadsheets write them. Yields each before reading later lines.
    """
    reader, width = csv.reader(lines, delimiter=head.separator), len(head.names)
    begin = line or head.next_line
    while True:
        number = begin + reader.line_num
        try:
            cells = next(reader, None)
        except csv.Error:
            yield number, "it cannot be read as CSV; is a quotation mark not closed?"
            continue
        if cells is None:
            return
        if number == 1 and cells:
            cells[0] = cells[0].removeprefix("\ufeff")
        # A leading space suggests part of another cell, such as “Doe, Jane” without quotes.
        is_whole = not any(cell.startswith(" ") for cell in cells[1:])
        while len(cells) > width and is_whole and not cells[-1].strip():
            cells.pop()
        if number == 1 and _SEPARATOR_LINE.fullmatch(head.separator.join(cells)):
            continue
        if len(cells) > width:
            yield (
                number,
                f"it has {len(cells)} columns, the first line {width}; quote values with separators.",
            )
        elif any(cell.strip() for cell in cells):
            yield number, cells


def named_records(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, str] | str]]:
    """Raises ValidationError for unknown column names."""
    head, remaining = split_head(lines)
    names = [name.lower() for name in head.names]
    if "email" not in names:
        raise ValidationError(HEADER)
    for line, cells in records(remaining, head):
        yield line, cells if isinstance(cells, str) else dict(zip(names, cells, strict=False))
