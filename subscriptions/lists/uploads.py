"""Uploaded lists: checked by a worker, imported on an admin's word."""

import codecs
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, islice

from django.core.exceptions import ValidationError
from django.db import transaction

from common.uploads import NotPossible
from subscriptions.lists.reading import Head, Terms, heading_of, is_address, kind_of_list, read_head, records
from subscriptions.models import ListImport, Subscribable
from subscriptions.rules.lists.rows import warning
from subscriptions.rules.lists.survey import ColumnSurvey

LONGEST_LINE = 64 * 1024
# Until an admin has chosen.
USUAL_ENCODING = "windows-1252"
FOREIGN_KEPT = 50
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
FROM_THE_START = dict.fromkeys(
    ("position", "line", "lines", "added", "updated", "unchanged", "repeated", "refused"), 0
)
State = ListImport.State


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Convert UTF-16 to UTF-8, and carriage returns of old Macs to line feeds."""
    remaining = iter(pieces)
    first = next(remaining, b"")
    everything: Iterator[bytes] = (piece for piece in chain([first], remaining) if piece)
    if name := _utf16(first):
        decode = codecs.getincrementaldecoder(name)(errors="replace").decode
        everything = (decode(piece).encode() for piece in everything)
        first = next(everything, b"")
        everything = chain([first], everything)
    if b"\r" in first and b"\n" not in first:
        everything = (piece.replace(b"\r", b"\n") for piece in everything)
        first = first.replace(b"\r", b"\n")
    if separators := _separators_of_addresses(first):
        everything = _one_address_a_line(everything, separators)
    return (piece for piece in everything if piece)


def _separators_of_addresses(first: bytes) -> bytes:
    """Return what separates addresses if the first line has several, and nothing else."""
    line = first.removeprefix(codecs.BOM_UTF8).lstrip().partition(b"\n")[0][:LONGEST_LINE]
    for separators in (b";", b",", b"\t", b",;\t"):
        cells = re.findall(rb'(?:"[^"]*"|[^"' + separators + rb"])+", line)
        if len(line) == LONGEST_LINE:
            # The last one may be cut off.
            cells.pop()
        filled = [cell.decode(errors="replace") for cell in cells if cell.strip()]
        if len(filled) > 1 and all(map(is_address, filled)):
            return separators
    return b""


def _one_address_a_line(pieces: Iterable[bytes], separators: bytes) -> Iterator[bytes]:
    """People copy their recipients out of a mail program: each address gets a line."""
    cell = re.compile(rb'(?:"[^"\n]*"|[^"\n' + separators + rb"])+")
    rest, ends = b"", (b"\n", *(bytes([each]) for each in separators))
    for piece in chain(pieces, [b""]):
        text = rest + piece
        end = max(map(text.rfind, ends)) + 1 if piece else len(text)
        text, rest = text[:end], text[end:]
        yield b"".join(b'"%s"\n' % each.strip().replace(b'"', b'""') for each in cell.findall(text))


def _utf16(first: bytes) -> str:
    """Detect it by its mark, or by zeros in the first letters."""
    if name := _UTF16.get(first[:2]):
        return name
    letters = first[:4]
    if len(letters) == 4 and letters.count(0) == 2:
        return "utf-16-be" if not letters[0] and not letters[2] else "utf-16-le" if not letters[1] else ""
    return ""


class FileLines(Iterator[str]):
    """Lines of a file in pieces. `position`: start of the line with the number `next_line`.

    Lines that are not UTF-8 are counted, and the first ones kept. Lines over LONGEST_LINE are split.
    """

    def __init__(self, pieces: Iterator[bytes], position: int = 0, encoding: str = "") -> None:
        self.position = position
        self.next_line, self.foreign_count = 1, 0
        self.foreign: list[bytes] = []
        self._encoding = encoding or USUAL_ENCODING
        self._pieces = pieces
        self._text = b""
        self._at = 0

    def __next__(self) -> str:
        end = self._end_of_line()
        if end == self._at:
            raise StopIteration
        line = self._text[self._at : end]
        self._at = end
        self.position += len(line)
        self.next_line += 1
        try:
            return line.decode()
        except UnicodeDecodeError:
            self.foreign_count += 1
            if len(self.foreign) < FOREIGN_KEPT:
                self.foreign.append(line)
            return line.decode(self._encoding, errors="replace")

    def _end_of_line(self) -> int:
        while (end := self._text.find(b"\n", self._at, self._at + LONGEST_LINE)) < 0:
            if len(self._text) - self._at >= LONGEST_LINE:
                return self._at + LONGEST_LINE
            piece = next(self._pieces, b"")
            if not piece:
                return len(self._text)
            self._text, self._at = self._text[self._at :] + piece, 0
        return end + 1


class StoredLines(FileLines):
    def __init__(self, row: ListImport, position: int = 0) -> None:
        super().__init__(row.read(position), position, row.encoding)


def upload(
    *, subscribable: Subscribable, name: str, pieces: Iterable[bytes], terms: Terms, by: str, now: datetime
) -> ListImport:
    """Raises ValidationError for a bridge or an empty file."""
    kind_of_list(subscribable)
    about = {"status": terms.status, "words": terms.words, "is_limited": terms.is_limited}
    row = ListImport.keep(
        {"": as_utf8(pieces)}, State.CHECKING, name=name, by=by, now=now, subscribable=subscribable, **about
    )
    if not row.size:
        row.delete()
        raise ValidationError("The file is empty.")
    return row


def harm_of(row: ListImport) -> str:
    """Return a warning if the import of a checked list would harm most of a list; or ""."""
    outcomes = (row.findings or {}).get("outcomes")
    if row.state != State.CHECKED or not outcomes:
        return ""
    receiving = row.subscribable.subscriptions.filter(status="confirmed").count()
    ending = (row.findings or {}).get("ending", 0)
    return warning(outcomes, status=row.status, ending=ending, receiving=receiving)


@transaction.atomic
def begin_import(list_import: ListImport, *, now: datetime, anyway: bool = False) -> None:
    """Raises NotPossible, also if it would harm most of a list, unless `anyway`."""
    row = list_import.locked(State.CHECKED)
    if not anyway and (words := harm_of(row)):
        raise NotPossible(words)
    row.refused_lines.all().delete()
    # The check has counted each address once.
    counted = {"begun_at": now, "repeated": row.repeated}
    row.hand_on(State.IMPORTING, now, **{**FROM_THE_START, **counted})


@transaction.atomic
def explain(
    list_import: ListImport,
    *,
    meanings: Mapping[str, str],
    dates: str,
    now: datetime,
    statuses: Mapping[str, str] | None = None,
    encoding: str = "",
) -> None:
    """Store what an admin says of the columns, words and encoding, and have the file checked again.

    Raises NotPossible, and ValidationError for unusable meanings.
    """
    row = list_import.locked(*ListImport.WAITING)
    row.meanings, row.dates, row.findings = dict(meanings), dates, None
    row.statuses = {**(row.statuses or {}), **(statuses or {})}
    row.encoding = encoding or row.encoding
    if row.names:
        heading_of(Head(tuple(row.names), ""), terms_of(row))
    row.hand_on(State.CHECKING, now, **FROM_THE_START)


def first_lines(list_import: ListImport, count: int) -> list[list[str]]:
    lines = StoredLines(list_import)
    head = read_head(lines)
    read = records(StoredLines(list_import) if head.is_missing else lines, head)
    return [cells for _, cells in islice(read, count) if not isinstance(cells, str)]


def terms_of(row: ListImport) -> Terms:
    return Terms(row.status, row.words, row.meanings or {}, row.dates, row.statuses or {}, row.is_limited)


def survey_kept(row: ListImport) -> dict[int, ColumnSurvey] | None:
    """Return None if the list was not judged, or by the previous release."""
    columns = (row.findings or {}).get("columns")
    if columns is None or any("counts" not in column for column in columns.values()):
        return None
    return {int(place): ColumnSurvey.of_json(column) for place, column in columns.items()}
