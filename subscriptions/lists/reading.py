"""Reads lists in batches. Reports have bounded memory."""

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain, islice

from django.core.exceptions import ValidationError

from common.ports import channels
from common.ports.channels import ChannelSpec, InvalidDestination, ParsedDestination
from subscriptions.models import Subscribable
from subscriptions.rules.lists.formulas import as_text
from subscriptions.rules.lists.headings import HEADER, REPORT, Heading, NoList, heading, places_to_survey
from subscriptions.rules.lists.rows import UNREADABLE, ListRow, UnusableLine, read_row, within_newsletter
from subscriptions.rules.lists.survey import ColumnSurvey, Survey
from subscriptions.rules.sign_up import LONGEST_NAME, tidy_name

LINES_A_BATCH = 2000
LINES_A_CHUNK = 1000
# In memory. `on_refused` gets all of them.
REFUSED_ROWS_KEPT = 1000
_AROUND_ADDRESSES = " \t;,\u00a0\u200b\u200c\u200d\u200e\u200f\u2060\ufeff"
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


@dataclass(frozen=True, slots=True)
class RefusedRow:
    line: int
    reason: str
    cells: tuple[str, ...] = ()
    kind: str = UNREADABLE


@dataclass
class ImportReport:
    """`repeated`: lines with an earlier address, in dry runs. `outcomes`: lines by rows.OUTCOMES."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    refused_count: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    refused: list[RefusedRow] = field(default_factory=list)
    names: tuple[str, ...] = ()
    note: str = ""
    # Ignored columns, with the number of lines concerned, and of addresses in them.
    not_used: tuple[tuple[str, int, int], ...] = ()
    # Lines with a date that can't be read; people who would get no more emails.
    lost_dates: int = 0
    ending: int = 0
    on_refused: "Callable[[ImportReport, Sequence[RefusedRow]], None] | None" = None

    def refuse(self, lines: Sequence[RefusedRow]) -> None:
        self.refused_count += len(lines)
        self.outcomes.update(each.kind for each in lines)
        self.refused += lines[: REFUSED_ROWS_KEPT - len(self.refused)]
        if self.on_refused and lines:
            self.on_refused(self, lines)


def refused_head(names: Sequence[str]) -> list[str]:
    return [*REPORT, *map(as_text, names)]


def refused_row(line: int, reason: str, cells: Sequence[str]) -> list[str]:
    return [str(line), reason, *map(as_text, cells)]


@dataclass(frozen=True, slots=True)
class Terms:
    """An admin's word on a whole list.

    `status`: the most that anybody becomes, and what lines without one get; "" leaves it to the lines.
    `words`: how they agreed. `meanings`: of columns. `statuses`: by word. `dates`: order of day and month.
    `is_limited`: the list changes its newsletter only.
    """

    status: str = ""
    words: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    dates: str = ""
    statuses: Mapping[str, str] = field(default_factory=dict)
    is_limited: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    line: int
    row: ListRow
    parsed: ParsedDestination
    cells: list[str]


@dataclass(slots=True)
class Batch:
    wanted: list[Wanted] = field(default_factory=list)
    refused: list[RefusedRow] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.wanted) + len(self.refused)


def kind_of_list(subscribable: Subscribable) -> ChannelSpec:
    """Raises ValidationError for a bridge, which has no lists."""
    kind = channels.get(subscribable.channel)
    if all(each.name != "email" for each in kind.destination_fields):
        raise ValidationError(
            f"Lists are for newsletters by email, but {subscribable} posts to {kind.label}. Use “subscribe”."
        )
    return kind


def heading_of(head: Head, terms: Terms, survey: Mapping[int, ColumnSurvey] | None = None) -> Heading:
    """Raises ValidationError without an email column."""
    try:
        return heading(head.names, terms.meanings, survey, terms.statuses)
    except NoList as error:
        raise ValidationError(str(error)) from error


def survey_of(head: Head, terms: Terms, read: Iterable[Record]) -> dict[int, ColumnSurvey]:
    """Raises ValidationError without an email column."""
    known = heading_of(head, terms)
    free, texts = places_to_survey(head.names, known)
    survey = Survey(free, texts, lambda cells: known.status_of(cells, terms.status))
    rows = (cells for _, cells in read if not isinstance(cells, str))
    while chunk := list(islice(rows, LINES_A_CHUNK)):
        survey.add(chunk)
    return survey.columns


def column_of_addresses(head: Head, read: Iterable[Record]) -> str:
    """Return the only column with just addresses in the first lines, or ""."""
    rows = [cells for _, cells in islice(read, LINES_A_CHUNK) if not isinstance(cells, str)]
    headings = []
    for place, name in enumerate(head.names):
        cells = [text for row in rows if place < len(row) and (text := row[place].strip())]
        if name and cells and all(map(is_address, cells)):
            headings.append(name)
    return headings[0] if len(headings) == 1 else ""


def not_used(
    names: Sequence[str], columns: Heading, survey: Mapping[int, ColumnSurvey] | None
) -> tuple[tuple[str, int, int], ...]:
    places = {place for _, place in (*columns.places, *columns.blocks)}
    rows = {place: judgement.rows for place, judgement in columns.judged}
    addresses = {place: column.addresses for place, column in (survey or {}).items()}
    return tuple(
        (name, rows.get(place, 0), addresses.get(place, 0))
        for place, name in enumerate(names)
        if place not in places
    )


def batches(
    records: Iterable[Record], *, columns: Heading, kind: ChannelSpec, terms: Terms, now: datetime
) -> Iterator[Batch]:
    """Lines are read only when needed."""
    batch, dates = Batch(), terms.dates or columns.program.dates
    for line, cells in records:
        if isinstance(cells, str):
            batch.refused.append(RefusedRow(line, cells))
        else:
            try:
                row = read_row(columns.row(cells, terms.status), now=now, dates=dates)
                parsed = kind.parse_destination({"email": bare_address(row.email)})
            except (UnusableLine, InvalidDestination) as error:
                why = error.kind if isinstance(error, UnusableLine) else UNREADABLE
                batch.refused.append(RefusedRow(line, str(error), tuple(cells), why))
            else:
                name = _tidy(row.name) or _tidy(parsed.display_name)
                row = row if name == row.name else replace(row, name=name)
                row = within_newsletter(row) if terms.is_limited else row
                batch.wanted.append(Wanted(line, row, parsed, cells))
        if len(batch) >= LINES_A_BATCH:
            yield batch
            batch = Batch()
    if len(batch):
        yield batch


def bare_address(text: str) -> str:
    """Return the first address of a cell (Google's contacts have several) without signs copied with it."""
    return text.partition(" ::: ")[0].strip(_AROUND_ADDRESSES).removeprefix("mailto:")


def _tidy(name: str) -> str:
    # Most names are tidy.
    is_tidy = len(name) <= LONGEST_NAME and name.isprintable() and "  " not in name
    return name.strip() if is_tidy else tidy_name(name)
