"""Bounded reading of uploaded files: zip archives, JSON and dumps. Nothing is unpacked to disk."""

import csv
import io
import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from common.refused import Refused
from delivery.rules.old_issues.found import text_of

MEGABYTE = 1024 * 1024
# One issue's html; a list of issues; all of a JSON document, which takes several times as much memory.
MOST_PAGE = 5 * MEGABYTE
MOST_TABLE = 20 * MEGABYTE
MOST_JSON = 60 * MEGABYTE
MOST_ISSUES = 10_000
# Of all issues together.
MOST_TEXT = 500 * MEGABYTE
# Each member takes about 500 bytes of memory.
MOST_DIRECTORY = 8 * MEGABYTE
# Small values take a hundred times as much memory as text.
MOST_VALUES = 3_000_000
MOST_COLUMNS = 200
_END, _END_64 = b"PK\x05\x06", b"PK\x06\x07"
_END_SIZE, _LONGEST_COMMENT, _LOCATOR_SIZE = 22, 65_535, 20
DAMAGED = "The zip file is damaged. Download it once more."


class Archive:
    """A zip archive's members by name, without their common folder."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in file.infolist():
            path = PurePosixPath(info.filename.replace("\\", "/"))
            if path.is_absolute() or ".." in path.parts:
                raise Refused("The zip file contains paths that lead out of its folder, so it isn’t read.")
            # macOS adds these.
            if not info.is_dir() and "__MACOSX" not in path.parts:
                self._members.setdefault(str(path), info)

    @property
    def names(self) -> list[str]:
        return list(self._members)

    def size(self, name: str) -> int:
        """Return the size unpacked; `read` returns no more."""
        return self._members[name].file_size

    def read(self, name: str, most: int) -> bytes:
        """Raises Refused."""
        info = self._members[name]
        if info.file_size > most:
            raise Refused(f"“{name}” has more than {most // MEGABYTE} MB.")
        if info.flag_bits & 1:
            raise Refused("The zip file has a password. Make one without.")
        # Others unpack without a limit.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise Refused(f"“{name}” is packed in an unusual way. Unpack the file and zip it again.")
        try:
            with self._file.open(info) as member:
                return member.read(most)
        except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, NotImplementedError) as error:
            raise Refused(DAMAGED) from error

    def find(self, name: str) -> str:
        """Return the path of the file with this name that is nearest to the root, or ""."""
        found = [path for path in self._members if PurePosixPath(path).name.lower() == name]
        return min(found, key=lambda path: (path.count("/"), path), default="")

    def beside(self, path: str, folder: str, ending: str) -> list[str]:
        """Return files with this ending in a folder beside `path`."""
        start = str(PurePosixPath(path).parent / folder) + "/"
        return sorted(name for name in self._members if name.startswith(start) and name.endswith(ending))


@contextmanager
def opened_zip(path: Path) -> Iterator[Archive]:
    """Raises Refused."""
    _refuse_large_directory(path)
    try:
        with zipfile.ZipFile(path) as file:
            yield Archive(file)
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:
        raise Refused(DAMAGED) from error


def _refuse_large_directory(path: Path) -> None:
    """`zipfile` reads the whole list of members, of any size, into memory."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start = max(0, size - _END_SIZE - _LONGEST_COMMENT - _LOCATOR_SIZE)
        file.seek(start)
        tail = file.read()
    # `zipfile` takes the last bytes if they are an end without a comment, else the last signature.
    plain = len(tail) - _END_SIZE
    at = plain if tail[plain:].startswith(_END) and tail.endswith(b"\0\0") else tail.rfind(_END)
    if at < 0 or at + _END_SIZE > len(tail):
        raise Refused(DAMAGED)
    if tail[max(0, at - _LOCATOR_SIZE) : at].startswith(_END_64):
        raise Refused("The zip file is in the ZIP64 format. Unpack it and zip it again.")
    if int.from_bytes(tail[at + 12 : at + 16], "little") > MOST_DIRECTORY:
        raise Refused("The zip file has too many files in it.")


def table_rows(data: bytes) -> list[dict[str, str]]:
    """Return the rows of a CSV file by their headings, in lower case. Raises Refused."""
    rows: list[dict[str, str]] = []
    try:
        reader = csv.DictReader(io.StringIO(text_of(data), newline=""))
        if len(reader.fieldnames or ()) > MOST_COLUMNS:
            raise Refused("The list of issues has too many columns.")
        for row in reader:
            rows.append({(name or "").strip().lower(): _cell(value) for name, value in row.items()})
            refuse_too_many(len(rows))
    except csv.Error as error:
        raise Refused(f"The list of issues can’t be read: {error}.") from error
    return rows


def _cell(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def refuse_too_many(count: int) -> None:
    if count > MOST_ISSUES:
        raise Refused(f"There are more than {MOST_ISSUES:,} issues in it.")


def refuse_too_much(sizes: int) -> None:
    if sizes > MOST_TEXT:
        raise Refused(f"Its issues have more than {MOST_TEXT // MEGABYTE} MB of text.")


def json_of(data: bytes) -> Any:
    """Raises Refused."""
    if sum(map(data.count, (b"{", b"[", b","))) > MOST_VALUES:
        raise Refused("The JSON file has too many values in it.")
    try:
        return json.loads(text_of(data))
    except (ValueError, RecursionError) as error:
        raise Refused("The file isn’t valid JSON. Download it once more.") from error
