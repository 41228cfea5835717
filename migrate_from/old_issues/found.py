"""Issues found in another program's export, which is read within bounds and not unpacked to disk."""

import codecs
import csv
import io
import json
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path, PurePosixPath
from typing import Any

from common.archives import Budget, open_member, open_zip, pieces_of, read_member
from common.body_limits import MEGABYTE
from common.html.balance import VOID
from common.refused import Refused
from common.text import one_line, without_controls

PAID = "It was for paying subscribers."
PRIVATE = "It was private: for members or by email only."
NO_DATE = "It has no date."
NOT_SENT = "It wasn’t sent."
IN_THE_FUTURE = "Its date is in the future."
EMPTY = "It has no text."
# Quoted values may contain ">". No "<" inside, so that all matching together is linear.
_TAG = re.compile(r"""<(/?)([a-zA-Z][\w:-]*)((?:[^<>"']|"[^"<]*"|'[^'<]*')*)>""")
# Markdown of this size or more may be refused, so a preview reads it.
MOST_UNREAD = 100_000
_MARKS = " \t,;:–—-"
_BEFORE_MARK = re.compile(r"\s+([,;:.!?])")
_NAMED = re.compile(r"""\s(?:class|id)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.IGNORECASE)
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


@dataclass(frozen=True, slots=True)
class OldIssue:
    """`key` is unique among all programs'; `read` returns its uncleaned HTML, and raises Refused.

    `note` tells of a doubt. `names` are what links to it end with there, such as its slug.
    """

    key: str
    title: str
    at: datetime
    read: Callable[[], str]
    note: str = ""
    names: frozenset[str] = frozenset()
    is_private: bool = False


@dataclass(frozen=True, slots=True)
class IssueLine:
    """Of a report. `result`: of delivery’s IssueImportLine."""

    title: str
    words: str = ""
    at: datetime | None = None
    result: str = "refused"


@dataclass(frozen=True, slots=True)
class Found:
    """Issues are sorted by date, then by key, so that work can go on at a number.

    `address`: the old site, "" if unknown.
    """

    program: str
    issues: Sequence[OldIssue]
    refused: Sequence[IssueLine] = ()
    address: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """`zone` is for times without one. `address`: the old site, "" if unknown."""

    zone: tzinfo
    now: datetime
    address: str = ""
    with_paid: bool = False
    with_private: bool = False


@dataclass(frozen=True, slots=True)
class Collected:
    """Issues of an export while it is read."""

    program: str
    wanted: Wanted
    issues: list[OldIssue] = field(default_factory=list)
    refused: list[IssueLine] = field(default_factory=list)

    def add(
        self,
        key: str,
        title: str,
        at: datetime | None,
        read: Callable[[], str],
        *,
        why: str,
        note: str = "",
        names: Iterable[Any] = (),
        size: int = 0,
        is_paid: bool = False,
        is_private: bool = False,
    ) -> None:
        """Refuse the issue for the reason `why`, if any, for its readers, its date or its `size`."""
        title = title or "Untitled"
        if is_paid and not self.wanted.with_paid:
            why = why or PAID
        elif is_private and not is_paid and not self.wanted.with_private:
            why = why or PRIVATE
        if not why and size > MOST_UNREAD:
            try:
                read()
            except Refused as error:
                why = str(error)
        if at is None or why:
            self.refused.append(IssueLine(title, why or NO_DATE, at))
        elif at > self.wanted.now:
            self.refused.append(IssueLine(title, IN_THE_FUTURE, at))
        else:
            ends = frozenset(str(name).lower() for name in names if name)
            self.issues.append(OldIssue(key, title, at, read, note, ends, is_private and not is_paid))

    def found(self, address: str = "") -> Found:
        issues = sorted(self.issues, key=lambda issue: (issue.at, issue.key))
        return Found(self.program, issues, self.refused, address)


def title_of(text: str, fields: "re.Pattern[str]") -> str:
    """Remove fields such as a reader's name, and the punctuation that belonged to them."""
    rest, count = fields.subn("", text)
    if count:
        rest = _BEFORE_MARK.sub(r"\1", rest).strip(_MARKS)
    return one_line(rest)


def without_parts(html: str, names: Collection[str]) -> str:
    """Remove elements with one of these classes or ids, such as forms to subscribe, or td.footer."""
    parts: list[str] = []
    kept_from, dropped, depth = 0, "", 0
    for tag in _TAG.finditer(html):
        name = tag[2].lower()
        if dropped:
            if name == dropped:
                depth += -1 if tag[1] else 0 if tag[3].endswith("/") else 1
            if not depth:
                kept_from, dropped = tag.end(), ""
        elif not tag[1] and name not in VOID and _is_named(name, tag[3], names):
            parts.append(html[kept_from : tag.start()])
            dropped, depth = name, 1
    # One without an end stays out, as browsers would put all that follows into it.
    return "".join([*parts, "" if dropped else html[kept_from:]])


def _is_named(element: str, attributes: str, names: Collection[str]) -> bool:
    named = (word for match in _NAMED.finditer(attributes) for word in "".join(match.groups("")).split())
    return any(word in names or f"{element}.{word}" in names for word in named)


def text_of(data: bytes) -> str:
    return data.decode("utf-8-sig", errors="replace")


def texts_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """Decode a file in pieces, without control characters."""
    decoder = codecs.getincrementaldecoder("utf-8-sig")(errors="replace")
    for piece in pieces:
        yield without_controls(decoder.decode(piece))
    yield decoder.decode(b"", True)


def lines_of(pieces: Iterable[bytes]) -> Iterator[str]:
    """Raises Refused."""
    rest = ""
    for text in texts_of(pieces):
        *lines, rest = (rest + text).split("\n")
        if len(rest) > MOST_PAGE:
            raise Refused(f"A line has more than {MOST_PAGE // MEGABYTE} MB.")
        yield from (f"{line}\n" for line in lines)
    yield rest


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
        self.names = list(self._members)

    def size(self, name: str) -> int:
        """Return the size unpacked; `read` returns no more."""
        return self._members[name].file_size

    def read(self, name: str, most: int) -> bytes:
        """Raises Refused."""
        info = self._members[name]
        if info.file_size > most:
            raise Refused(f"“{name}” has more than {most // MEGABYTE} MB.")
        return read_member(self._file, info, Budget(most))

    def pieces(self, name: str, budget: Budget) -> Iterator[bytes]:
        """Raises Refused."""
        with open_member(self._file, self._members[name]) as stream:
            yield from pieces_of(stream, budget)

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
    return list(csv_rows(io.StringIO(text_of(data), newline="")))


def csv_rows(lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Raises Refused."""
    try:
        reader = csv.DictReader(lines)
        if len(reader.fieldnames or ()) > MOST_COLUMNS:
            raise Refused("The list of issues has too many columns.")
        for count, row in enumerate(reader, 1):
            refuse_too_many(count)
            yield {(name or "").strip().lower(): _cell(value) for name, value in row.items()}
    except csv.Error as error:
        raise Refused(f"The list of issues can’t be read: {error}.") from error


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
