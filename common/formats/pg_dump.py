"""Rows of plain dumps of PostgreSQL (`pg_dump`), from their COPY blocks."""

import re
from collections.abc import Iterator
from typing import IO

from common.refused import Refused

# All values are texts; None is NULL.
DumpRow = dict[str, str | None]
PLAIN = "Make a plain one: pg_dump --format=plain --file=dump.sql."
# Octets of a file's beginning that `refuse_unless_plain` needs.
START = 512
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd", b'\x04"M\x18', b"PK\x03\x04")
LONGEST_LINE = 16 * 1024 * 1024
# PostgreSQL has no more.
MOST_COLUMNS = 1_600
_COPY = re.compile(r'COPY (?:"?[\w$]+"?\.)?"?(\w+)"? \((.*)\) FROM stdin;\r?\n?\Z')
_ESCAPE = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.DOTALL)
_CONTROLS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def refuse_unless_plain(start: bytes) -> None:
    """Name the other forms by a file's first octets. Raises Refused."""
    if start.startswith(b"PGDMP"):
        raise Refused(f"This is a custom-format dump. {PLAIN}")
    if start[257:262] == b"ustar" or start.startswith(b"toc.dat"):
        raise Refused(f"This is a tar archive. {PLAIN}")
    if start.startswith(_PACKED):
        raise Refused("This file is compressed. Unpack it first, such as with gunzip.")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Refused(f"This file is UTF-16, as “>” of PowerShell writes it. {PLAIN}")


def dumped_tables(stream: IO[str]) -> Iterator[tuple[str, Iterator[DumpRow]]]:
    """Yield each table's name and rows, which must be read before the next. Raises Refused."""
    lines = _lines(stream)
    for line in lines:
        if line.startswith("INSERT INTO "):
            raise Refused("The dump has INSERT statements. Make it without --inserts.")
        if match := _COPY.match(line):
            if match[2].count(",") >= MOST_COLUMNS:
                raise Refused(f"The dump is damaged: a table has more than {MOST_COLUMNS:,} columns.")
            columns = [each.strip().strip('"') for each in match[2].split(",")]
            rows = _rows(lines, columns)
            yield match[1], rows
            for _ in rows:
                pass


def _lines(stream: IO[str]) -> Iterator[str]:
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise Refused(f"A line of the dump is longer than {LONGEST_LINE // 1024 // 1024} MB.")
        yield line


def _rows(lines: Iterator[str], columns: list[str]) -> Iterator[DumpRow]:
    for line in lines:
        text = line.rstrip("\n")
        if text == r"\.":
            return
        if text.count("\t") + 1 != len(columns):
            raise Refused("The dump is damaged: a row doesn’t have as many values as its table has columns.")
        yield {name: _value(cell) for name, cell in zip(columns, text.split("\t"), strict=True)}
    raise Refused("The dump is cut off: a table has no end.")


def _value(cell: str) -> str | None:
    if cell == r"\N":
        return None
    return _ESCAPE.sub(_unescaped, cell) if "\\" in cell else cell


def _unescaped(match: re.Match[str]) -> str:
    text = match[1]
    if text[0] in "01234567":
        return chr(int(text, 8))
    if text[0] == "x" and len(text) > 1:
        return chr(int(text[1:], 16))
    return _CONTROLS.get(text, text)
