"""Zip files and compressed files of other programs, read at bounded cost. Nothing is written to disk."""

import gzip
import struct
import sys
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import IO, Any

from common.body_limits import MEGABYTE
from common.refused import Refused

# ZipFile reads the whole directory into memory.
MOST_DIRECTORY = 2 * MEGABYTE
PIECE = MEGABYTE
# Others may ask for much memory.
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# APPNOTE.TXT §4.3.14 to §4.3.16: the end records, and the longest comment.
END, END_64, LOCATOR_64 = b"PK\5\6", b"PK\6\6", b"PK\6\7"
LONGEST_END = 22 + 65_535
# §4.3.7: what is before a member's data, without its name.
SHORTEST_HEADER = 30

DAMAGED = "The file is damaged. Make it again."
NOT_PLAIN = "The zip file has members that are encrypted or compressed in an unusual way. Make a plain one."
OUTSIDE = "The zip file has paths outside of its folder. Make it again."
TOO_LARGE = "The unpacked files are larger than {} MB."
TOO_MANY = "The zip file has too many files. Put in only those that are needed."
_ERRORS = (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, NotImplementedError)


class BadArchive(Refused):
    pass


class Budget:
    """Octets that may still be unpacked, or kept in memory."""

    def __init__(self, octets: int, problem: str = TOO_LARGE) -> None:
        self._most = self._left = octets
        self._problem = problem

    def spend(self, octets: int) -> None:
        """Raises BadArchive."""
        self._left -= octets
        if self._left < 0:
            raise BadArchive(self._problem.format(self._most // MEGABYTE))


def memory_of(values: Any) -> int:
    """Return about how many octets of memory nested values take."""
    octets, waiting = 0, [values]
    while waiting:
        value = waiting.pop()
        octets += sys.getsizeof(value)
        if isinstance(value, dict):
            waiting.extend((*value.keys(), *value.values()))
        elif isinstance(value, list):
            waiting.extend(value)
    return octets


def is_zip(head: bytes) -> bool:
    return head.startswith((b"PK\3\4", END))


def open_zip(stream: IO[bytes], most_directory: int = MOST_DIRECTORY) -> zipfile.ZipFile:
    """Raises BadArchive unless all members are plain files within the archive."""
    try:
        if _directory_size(stream) > most_directory:
            raise BadArchive(TOO_MANY)
        archive = zipfile.ZipFile(stream)
    except BadArchive:
        raise
    except _ERRORS as error:
        raise BadArchive(DAMAGED) from error
    if _overlaps(archive):
        raise BadArchive(DAMAGED)
    for member in archive.infolist():
        # Backslashes separate folders on Windows.
        path = PurePosixPath(member.orig_filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1]):
            raise BadArchive(OUTSIDE)
        if member.flag_bits & 1 or member.compress_type not in METHODS:
            raise BadArchive(NOT_PLAIN)
    return archive


def pieces_of(stream: IO[bytes], budget: Budget, *, is_gzip: bool = False) -> Iterator[bytes]:
    """Read a stream within the budget. Raises BadArchive."""
    try:
        unpacked = gzip.GzipFile(fileobj=stream) if is_gzip else stream
        while piece := unpacked.read(PIECE):
            budget.spend(len(piece))
            yield piece
    except BadArchive:
        raise
    except _ERRORS as error:
        raise BadArchive(DAMAGED) from error


def open_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> IO[bytes]:
    """Raises BadArchive."""
    try:
        return archive.open(member)
    except _ERRORS as error:
        raise BadArchive(DAMAGED) from error


def read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, budget: Budget) -> bytes:
    """Raises BadArchive."""
    with open_member(archive, member) as stream:
        return b"".join(pieces_of(stream, budget))


def _overlaps(archive: zipfile.ZipFile) -> bool:
    """Return whether data reach into the next member or the directory, which only some Pythons refuse."""
    places = sorted((member.header_offset, member.compress_size) for member in archive.infolist())
    ends = [*(begin for begin, _ in places[1:]), archive.start_dir]
    spans = zip(places, ends, strict=False)
    return any(begin < 0 or begin + SHORTEST_HEADER + size > end for (begin, size), end in spans)


def _directory_size(stream: IO[bytes]) -> int:
    size = stream.seek(0, 2)
    stream.seek(max(0, size - LONGEST_END - 20))
    tail = stream.read()
    end = tail.rfind(END)
    if end < 0:
        raise BadArchive(DAMAGED)
    (octets,) = struct.unpack_from("<L", tail, end + 12)
    if tail[max(0, end - 20) : end].startswith(LOCATOR_64):
        stream.seek(struct.unpack_from("<Q", tail, end - 12)[0])
        record = stream.read(56)
        if not record.startswith(END_64):
            raise BadArchive(DAMAGED)
        (octets,) = struct.unpack_from("<Q", record, 40)
    stream.seek(0)
    return int(octets)
