"""Uploaded lists: kept in the database in compressed pieces, and read again line by line from any place."""

import codecs
import zlib
from collections.abc import Iterable, Iterator
from itertools import chain

from subscriptions.models import ListImport, ListPart

PIECE = 1024 * 1024
LONGEST_LINE = 64 * 1024
# Speed counts: a list is read three times, and kept for minutes.
LEVEL = 1
_UTF16 = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def keep_pieces(row: ListImport, pieces: Iterable[bytes]) -> int:
    """Stores a file, each piece by itself. Returns its size as it is kept."""
    start = 0
    for piece in as_utf8(pieces):
        packed = zlib.compress(piece, LEVEL)
        ListPart.objects.create(list_import=row, start=start, size=len(piece), data=packed)
        start += len(piece)
    return start


def as_utf8(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The file as UTF-8 with line feeds: spreadsheets also write UTF-16, and lines that end like a Mac's."""
    remaining = iter(pieces)
    first = next(remaining, b"")
    everything = (piece for piece in chain([first], remaining) if piece)
    if name := _UTF16.get(first[:2]):
        decode = codecs.getincrementaldecoder(name)(errors="replace").decode
        everything = (decode(piece).encode() for piece in everything)
        first = next(everything, b"")
        everything = chain([first], everything)  # type: ignore[assignment]
    if b"\r" in first and b"\n" not in first:
        return (piece.replace(b"\r", b"\n") for piece in everything if piece)
    return (piece for piece in everything if piece)


class StoredLines(Iterator[str]):
    """The lines from a position on. `position` is where the next one begins, `handed_out` how many came.

    What is not UTF-8 is marked; a line that is absurdly long comes in pieces.
    """

    def __init__(self, list_import_id: int, position: int = 0) -> None:
        self.position = position
        self.handed_out = 0
        self._pieces = _pieces(list_import_id, position)
        self._text = b""
        self._at = 0

    def __next__(self) -> str:
        end = self._end()
        if end == self._at:
            raise StopIteration
        line = self._text[self._at : end]
        self._at = end
        self.position += len(line)
        self.handed_out += 1
        return line.decode(errors="replace")

    def _end(self) -> int:
        """Where the next line ends, once it is there."""
        while (end := self._text.find(b"\n", self._at, self._at + LONGEST_LINE)) < 0:
            if len(self._text) - self._at >= LONGEST_LINE:
                return self._at + LONGEST_LINE
            piece = next(self._pieces, b"")
            if not piece:
                return len(self._text)
            self._text, self._at = self._text[self._at :] + piece, 0
        return end + 1


def _pieces(list_import_id: int, position: int) -> Iterator[bytes]:
    rows = ListPart.objects.filter(list_import=list_import_id)
    while part := rows.filter(start__lte=position).order_by("-start").first():
        text = zlib.decompress(part.data)[position - part.start :]
        if not text:
            return
        yield text
        position += len(text)
