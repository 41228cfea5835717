"""Bounded reading of uploaded files: zip archives, JSON and dumps. Nothing is unpacked to disk."""

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any

from common.archives import Budget, open_zip, read_member
from common.body_limits import MEGABYTE
from common.refused import Refused
from delivery.rules.old_issues.found import text_of

# One issue's html; a list of issues; all of a JSON document, which takes several times as much memory.
MOST_PAGE = 5 * MEGABYTE
MOST_TABLE = 20 * MEGABYTE
MOST_JSON = 60 * MEGABYTE
MOST_ISSUES = 10_000
# Of all issues together.
MOST_TEXT = 500 * MEGABYTE
# Exports of Substack have several files an issue. Each takes about 500 bytes of memory.
MOST_DIRECTORY = 8 * MEGABYTE
# Small values take a hundred times as much memory as text.
MOST_VALUES = 3_000_000
MOST_COLUMNS = 200


class Archive:
    """A zip archive's members by name."""

    def __init__(self, file: zipfile.ZipFile) -> None:
        self._file = file
        self._members: dict[str, zipfile.ZipInfo] = {}
        for info in file.infolist():
            path = PurePosixPath(info.filename.replace("\\", "/"))
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
        return read_member(self._file, info, Budget(most))

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
    with path.open("rb") as stream, open_zip(stream, MOST_DIRECTORY) as file:
        yield Archive(file)


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
