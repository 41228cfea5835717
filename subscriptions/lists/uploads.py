"""Uploaded lists: checked and imported by a worker."""

import codecs
import zlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import chain, islice

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q

from common.db.leases import handed_on
from common.refused import Refused
from common.text import one_line, shortened
from subscriptions.lists.csv_lines import Head, read_head, records
from subscriptions.lists.reading import Terms, heading_of, kind_of_list
from subscriptions.models import ListImport, ListPart, RefusedLine, Subscribable
from subscriptions.rules.lists.survey import ColumnSurvey

PIECE_SIZE = 1024 * 1024
LONGEST_LINE = 64 * 1024
OLD_ENCODING = "windows-1252"
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
# Fastest: a list is read four times and kept for minutes.
COMPRESSION_LEVEL = 1
# Before a start, and after the end.
WAITS_FOR, KEPT_FOR = timedelta(days=7), timedelta(days=30)
FROM_THE_START = {
    "position": 0,
    "line": 0,
    "lines": 0,
    "added": 0,
    "updated": 0,
    "unchanged": 0,
    "repeated": 0,
    "refused": 0,
}


def keep_pieces(row: ListImport, pieces: Iterable[bytes]) -> int:
    start = 0
    for piece in as_utf8(pieces):
        packed = zlib.compress(piece, COMPRESSION_LEVEL)
        ListPart.objects.create(list_import=row, start=start, size=len(piece), data=packed)
        start += len(piece)
    return start


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
    def __init__(self, list_import_id: int, position: int = 0) -> None:
        super().__init__(_pieces(list_import_id, position), position)


def _pieces(list_import_id: int, position: int) -> Iterator[bytes]:
    rows = ListPart.objects.filter(list_import=list_import_id)
    while part := rows.filter(start__lte=position).order_by("-start").first():
        text = zlib.decompress(part.data)[position - part.start :]
        if not text:
            return
        yield text
        position += len(text)


State = ListImport.State
OPEN = (State.CHECKING, State.IMPORTING)


class NotPossible(Refused):
    """The message is a sentence."""


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
    row = ListImport.objects.create(
        subscribable=subscribable,
        file_name=shortened(one_line(name), 200),
        by=by[:150],
        status=terms.status,
        words=terms.words,
        created_at=now,
    )
    size = keep_pieces(row, pieces)
    if not size:
        row.delete()
        raise ValidationError("The file is empty.")
    row.size, row.state = size, State.CHECKING
    row.save(update_fields=["size", "state"])
    return row


@transaction.atomic
def begin_import(*, list_import: ListImport, now: datetime) -> None:
    """Raises NotPossible."""
    row = ListImport.objects.select_for_update(no_key=True).get(pk=list_import.pk)
    if row.state != State.CHECKED:
        raise NotPossible(f"“{row.file_name}” is {row.get_state_display()}.")
    RefusedLine.objects.filter(list_import=row).delete()
    fresh = {**FROM_THE_START, "state": State.IMPORTING, "begun_at": now, "trouble": ""}
    ListImport.objects.filter(pk=row.pk).update(**handed_on(now), **fresh)


@transaction.atomic
def explain(*, list_import: ListImport, meanings: Mapping[str, str], dates: str, now: datetime) -> None:
    """Store the columns' meanings and have the file checked again.

    Raises NotPossible, and ValidationError for unusable meanings.
    """
    row = ListImport.objects.select_for_update(no_key=True).get(pk=list_import.pk)
    if row.state not in (State.ASKING, State.CHECKED):
        raise NotPossible(f"“{row.file_name}” is {row.get_state_display()}.")
    row.meanings, row.dates, row.findings = dict(meanings), dates, None
    heading_of(Head(tuple(row.names), ""), terms_of(row))
    for field, value in {**FROM_THE_START, **handed_on(now), "state": State.CHECKING}.items():
        setattr(row, field, value)
    row.save()


def first_lines(list_import: ListImport, count: int) -> list[list[str]]:
    lines = StoredLines(list_import.pk)
    head = read_head(lines)
    read = records(StoredLines(list_import.pk) if head.is_missing else lines, head)
    return [cells for _, cells in islice(read, count) if not isinstance(cells, str)]


def terms_of(row: ListImport) -> Terms:
    return Terms(row.status, row.words, row.meanings or {}, row.dates)


def survey_kept(row: ListImport) -> dict[int, ColumnSurvey] | None:
    columns = (row.findings or {}).get("columns")
    return columns and {int(place): ColumnSurvey.of_json(each) for place, each in columns.items()}


@transaction.atomic
def stop_import(*, list_import: ListImport, now: datetime) -> None:
    """Imported lines stay. Raises NotPossible."""
    row = ListImport.objects.select_for_update(no_key=True).get(pk=list_import.pk)
    if row.state not in (*OPEN, State.CHECKED, State.ASKING, State.UPLOADING):
        raise NotPossible(f"“{row.file_name}” is {row.get_state_display()} already.")
    end_import(row, State.STOPPED, now)


def forget_old_imports(*, now: datetime) -> None:
    waiting = Q(state__in=(State.UPLOADING, State.CHECKED, State.ASKING), created_at__lt=now - WAITS_FOR)
    over = Q(state__in=(State.DONE, State.STOPPED, State.UNUSABLE), created_at__lt=now - KEPT_FOR)
    ListImport.objects.filter(waiting | over).delete()


def end_import(row: ListImport, state: State, now: datetime) -> None:
    """End a locked import in the caller's transaction."""
    row.state, row.lease_token, row.lease_until = state, None, None
    if state not in (State.CHECKED, State.ASKING):
        row.ended_at = now
        row.parts.all().delete()
    row.save()
