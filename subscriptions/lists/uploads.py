"""Uploaded lists: checked by a worker, imported on an admin's word."""

import codecs
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain, islice

from django.core.exceptions import ValidationError
from django.db import transaction

from subscriptions.lists.csv_lines import Head, read_head, records
from subscriptions.lists.reading import Terms, heading_of, kind_of_list
from subscriptions.models import ListImport, Subscribable
from subscriptions.rules.lists.survey import ColumnSurvey

LONGEST_LINE = 64 * 1024
OLD_ENCODING = "windows-1252"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
FROM_THE_START = dict.fromkeys(
    ("position", "line", "lines", "added", "updated", "unchanged", "repeated", "refused"), 0
)


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Convert UTF-16 to UTF-8, and carriage returns of old Macs to line feeds."""
    remaining = iter(pieces)
    first = next(remaining, b"")
    everything = (piece for piece in chain([first], remaining) if piece)
    if name := _utf16(first):
        decode = codecs.getincrementaldecoder(name)(errors="replace").decode
        everything = (decode(piece).encode() for piece in everything)
        first = next(everything, b"")
        everything = chain([first], everything)  # type: ignore[assignment]
    if b"\r" in first and b"\n" not in first:
        return (piece.replace(b"\r", b"\n") for piece in everything if piece)
    return (piece for piece in everything if piece)


def _utf16(first: bytes) -> str:
    """Detect it by its mark, or by zeros in the first letters."""
    if name := _UTF16.get(first[:2]):
        return name
    letters = first[:4]
    if len(letters) == 4 and letters.count(0) == 2:
        return "utf-16-be" if not letters[0] and not letters[2] else "utf-16-le" if not letters[1] else ""
    return ""


class FileLines(Iterator[str]):
    """Lines of a file in pieces. `position`: start of the next line.

    Lines that are not UTF-8 are read as windows-1252 and counted. Lines over LONGEST_LINE are split.
    """

    def __init__(self, pieces: Iterator[bytes], position: int = 0) -> None:
        self.position = position
        self.handed_out = self.in_old_encoding = 0
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
        self.handed_out += 1
        try:
            return line.decode()
        except UnicodeDecodeError:
            self.in_old_encoding += 1
            return line.decode(OLD_ENCODING, errors="replace")

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
        super().__init__(row.read(position), position)


State = ListImport.State


def upload(
    *,
    subscribable: Subscribable,
    name: str,
    pieces: Iterable[bytes],
    terms: Terms,
    by: str,
    now: datetime,
) -> ListImport:
    """Raises ValidationError for a bridge or an empty file."""
    kind_of_list(subscribable)
    about = {"subscribable": subscribable, "status": terms.status, "words": terms.words}
    row = ListImport.keep({"": as_utf8(pieces)}, State.CHECKING, name=name, by=by, now=now, **about)
    if not row.size:
        row.delete()
        raise ValidationError("The file is empty.")
    return row


@transaction.atomic
def begin_import(list_import: ListImport, *, now: datetime) -> None:
    """Raises NotPossible."""
    row = list_import.locked(State.CHECKED)
    row.refused_lines.all().delete()
    # The check has counted each address once.
    counted = {"begun_at": now, "repeated": row.repeated}
    row.hand_on(State.IMPORTING, now, **{**FROM_THE_START, **counted})


@transaction.atomic
def explain(list_import: ListImport, *, meanings: Mapping[str, str], dates: str, now: datetime) -> None:
    """Store the columns' meanings and have the file checked again.

    Raises NotPossible, and ValidationError for unusable meanings.
    """
    row = list_import.locked(*ListImport.WAITING)
    row.meanings, row.dates, row.findings = dict(meanings), dates, None
    heading_of(Head(tuple(row.names), ""), terms_of(row))
    row.hand_on(State.CHECKING, now, **FROM_THE_START)


def first_lines(list_import: ListImport, count: int) -> list[list[str]]:
    lines = StoredLines(list_import)
    head = read_head(lines)
    read = records(StoredLines(list_import) if head.is_missing else lines, head)
    return [cells for _, cells in islice(read, count) if not isinstance(cells, str)]


def terms_of(row: ListImport) -> Terms:
    return Terms(row.status, row.words, row.meanings or {}, row.dates)


def survey_kept(row: ListImport) -> dict[int, ColumnSurvey] | None:
    columns = (row.findings or {}).get("columns")
    return columns and {int(place): ColumnSurvey.of_json(each) for place, each in columns.items()}
