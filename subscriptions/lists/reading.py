"""Reads the lines of a list, a batch at a time; and the report on them, which takes a bounded memory."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from django.core.exceptions import ValidationError

from common.ports import channels
from common.ports.channels import ChannelSpec, InvalidDestination, ParsedDestination
from subscriptions.lists.csv_lines import Head, Record, is_address
from subscriptions.models import Subscribable
from subscriptions.rules.lists.formulas import as_text
from subscriptions.rules.lists.headings import REPORT, Heading, NoList, heading, places_to_survey
from subscriptions.rules.lists.rows import UNREADABLE, ListRow, UnusableLine, read_row
from subscriptions.rules.lists.survey import ColumnSurvey, Survey
from subscriptions.rules.sign_up import LONGEST_NAME, tidy_name

# Each batch is stored in one transaction.
LINES_A_BATCH = 2000
LINES_A_CHUNK = 1000
# A report keeps the first refused lines in memory; `on_refused` gets all of them.
REFUSED_ROWS_KEPT = 1000


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A line that was not taken: its number in the file, why, and its cells if it has any."""

    line: int
    reason: str
    cells: tuple[str, ...] = ()
    kind: str = UNREADABLE


@dataclass
class ImportReport:
    """How many lines did what. `repeated`: whose address the file had before; only a dry run counts these.

    `outcomes` counts the addresses by what becomes of them, and the refused lines by kind (rows.OUTCOMES).
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    refused_count: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    # The first of them.
    refused: list[RefusedRow] = field(default_factory=list)
    # The file's headings, known before anything is refused.
    names: tuple[str, ...] = ()
    # What a person should know of such a file, and cannot see in it.
    note: str = ""
    # The headings of columns that mean nothing here, each with how many lines it concerns all the same.
    not_used: tuple[tuple[str, int], ...] = ()
    on_refused: "Callable[[ImportReport, Sequence[RefusedRow]], None] | None" = None

    def refuse(self, lines: Sequence[RefusedRow]) -> None:
        self.refused_count += len(lines)
        self.outcomes.update(each.kind for each in lines)
        self.refused += lines[: REFUSED_ROWS_KEPT - len(self.refused)]
        if self.on_refused and lines:
            self.on_refused(self, lines)


def refused_head(names: Sequence[str]) -> list[str]:
    """The headings of a report of refused lines, which can be mended there and imported."""
    return [*REPORT, *map(as_text, names)]


def refused_row(line: int, reason: str, cells: Sequence[str]) -> list[str]:
    """A refused line in such a report."""
    return [str(line), reason, *map(as_text, cells)]


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for a whole list, in the words of the person who brings it.

    The status of lines that say none, how these people agreed, what columns mean (by their names), and in
    which order days and months are written.
    """

    status: str = "unconfirmed"
    words: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    dates: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A line that could be read, and the destination it names."""

    line: int
    row: ListRow
    parsed: ParsedDestination
    cells: list[str]


@dataclass(slots=True)
class Batch:
    """Lines that follow each other, read."""

    wanted: list[Wanted] = field(default_factory=list)
    refused: list[RefusedRow] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.wanted) + len(self.refused)


def kind_of_list(subscribable: Subscribable) -> ChannelSpec:
    """The newsletter's channel. Raises ValidationError for a bridge, which has no list."""
    kind = channels.get(subscribable.channel)
    if all(each.name != "email" for each in kind.destination_fields):
        raise ValidationError(
            f"{subscribable} goes to {kind.label}: lists are for newsletters by e-mail. Use “subscribe”."
        )
    return kind


def heading_of(head: Head, terms: Terms, survey: Mapping[int, ColumnSurvey] | None = None) -> Heading:
    """What the columns mean. Raises ValidationError when there is no email among them."""
    try:
        return heading(head.names, terms.meanings, survey)
    except NoList as error:
        raise ValidationError(str(error)) from error


def survey_of(head: Head, terms: Terms, read: Iterable[Record]) -> dict[int, ColumnSurvey]:
    """Count what the columns of the whole list hold. Raises ValidationError for a list without email."""
    known = heading_of(head, terms)
    free, texts = places_to_survey(head.names, known)
    survey = Survey(free, texts, lambda cells: known.row(cells)["status"] or terms.status)
    rows = (cells for _, cells in read if not isinstance(cells, str))
    while chunk := list(islice(rows, LINES_A_CHUNK)):
        survey.add(chunk)
    return survey.columns


def column_of_addresses(head: Head, read: Iterable[Record]) -> str:
    """Return the heading of the one column that has only addresses, by its first lines; else ""."""
    rows = [cells for _, cells in islice(read, LINES_A_CHUNK) if not isinstance(cells, str)]
    found = []
    for place, name in enumerate(head.names):
        cells = [text for row in rows if place < len(row) and (text := row[place].strip())]
        if name and cells and all(map(is_address, cells)):
            found.append(name)
    return found[0] if len(found) == 1 else ""


def not_used(names: Sequence[str], columns: Heading) -> tuple[tuple[str, int], ...]:
    """Return the headings of columns without a meaning, with how many lines each concerns."""
    places = {place for _, place in (*columns.places, *columns.blocks)}
    rows = {place: judgement.rows for place, judgement in columns.unread}
    return tuple((name, rows.get(place, 0)) for place, name in enumerate(names) if place not in places)


def batches(
    records: Iterable[Record], *, columns: Heading, kind: ChannelSpec, terms: Terms, now: datetime
) -> Iterator[Batch]:
    """The lines, in batches. Takes no line before its batch is asked for."""
    batch, dates = Batch(), terms.dates or columns.program.dates
    for line, cells in records:
        if isinstance(cells, str):
            batch.refused.append(RefusedRow(line, cells))
        else:
            try:
                row = read_row(columns.row(cells), now=now, status=terms.status, dates=dates)
                parsed = kind.parse_destination({"email": row.email})
            except (UnusableLine, InvalidDestination) as error:
                why = error.kind if isinstance(error, UnusableLine) else UNREADABLE
                batch.refused.append(RefusedRow(line, str(error), tuple(cells), why))
            else:
                name = _tidy(row.name) or _tidy(parsed.display_name)
                row = row if name == row.name else replace(row, name=name)
                batch.wanted.append(Wanted(line, row, parsed, cells))
        if len(batch) >= LINES_A_BATCH:
            yield batch
            batch = Batch()
    if len(batch):
        yield batch


def _tidy(name: str) -> str:
    # Most names are tidy already: a printable one has none of the characters that would have to go.
    is_tidy = len(name) <= LONGEST_NAME and name.isprintable() and "  " not in name
    return name.strip() if is_tidy else tidy_name(name)
