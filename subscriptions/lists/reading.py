"""From the lines of a list to what each asks for, a batch at a time; and the report, in bounded memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.core.exceptions import ValidationError

from common.ports import channels
from common.ports.channels import ChannelSpec, InvalidDestination, ParsedDestination
from subscriptions.lists.csv_lines import Head, Record
from subscriptions.models import Subscribable
from subscriptions.rules.formulas import as_text
from subscriptions.rules.list_headings import Heading, NoList, heading
from subscriptions.rules.list_rows import ListRow, RefusedLine, read_row
from subscriptions.rules.sign_up import LONGEST_NAME, tidy_name

# Lines to a transaction.
BATCH = 2000
# Refused lines that are kept in memory; all of them go to who asked for them.
KEPT = 1000


@dataclass(frozen=True, slots=True)
class RefusedRow:
    """A line that was not taken: its number in the file, why, and its cells if it has any."""

    line: int
    reason: str
    cells: tuple[str, ...] = ()


@dataclass
class ImportReport:
    """How many of each. `repeated`: addresses that the file had before (told by a dry run only)."""

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    repeated: int = 0
    refused_count: int = 0
    # The first of them.
    refused: list[RefusedRow] = field(default_factory=list)
    # The file's headings, known before anything is refused.
    names: tuple[str, ...] = ()
    # What the file does not tell, and somebody should know.
    note: str = ""
    on_refused: "Callable[[ImportReport, Sequence[RefusedRow]], None] | None" = None

    def refuse(self, lines: Sequence[RefusedRow]) -> None:
        self.refused_count += len(lines)
        self.refused += lines[: KEPT - len(self.refused)]
        if self.on_refused and lines:
            self.on_refused(self, lines)


def refused_head(names: Sequence[str]) -> list[str]:
    """The headings of a report of refused lines, which can be mended there and imported."""
    return ["line", "reason", *map(as_text, names)]


def refused_row(line: int, reason: str, cells: Sequence[str]) -> list[str]:
    """A refused line in such a report."""
    return [str(line), reason, *map(as_text, cells)]


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for a whole list, as the person said whose list it is.

    The status of lines that say none, how these people agreed, what columns mean (by their names), and in
    which order days and months are written.
    """

    status: str = "unconfirmed"
    words: str = ""
    meanings: Mapping[str, str] = field(default_factory=dict)
    dates: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A line that can be read, and the destination it means."""

    line: int
    row: ListRow
    parsed: ParsedDestination
    cells: list[str]


@dataclass(slots=True)
class Batch:
    """Some lines that follow each other."""

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


def heading_of(head: Head, terms: Terms) -> Heading:
    """What the columns mean. Raises ValidationError when there is no email among them."""
    try:
        return heading(head.names, terms.meanings)
    except NoList as error:
        raise ValidationError(str(error)) from error


def batches(
    records: Iterable[Record], *, columns: Heading, kind: ChannelSpec, terms: Terms, now: datetime
) -> Iterator[Batch]:
    """The lines in batches; takes no line before it is its turn."""
    batch = Batch()
    for line, cells in records:
        read = _read(line, cells, columns, kind, terms, now)
        if isinstance(read, RefusedRow):
            batch.refused.append(read)
        else:
            batch.wanted.append(read)
        if len(batch) >= BATCH:
            yield batch
            batch = Batch()
    if len(batch):
        yield batch


def _read(
    line: int, cells: list[str] | str, columns: Heading, kind: ChannelSpec, terms: Terms, now: datetime
) -> Wanted | RefusedRow:
    if isinstance(cells, str):
        return RefusedRow(line, cells)
    try:
        dates = terms.dates or columns.program.dates
        row = read_row(columns.row(cells), now=now, status=terms.status, dates=dates)
        parsed = kind.parse_destination({"email": row.email})
    except (RefusedLine, InvalidDestination) as error:
        return RefusedRow(line, str(error), tuple(cells))
    name = _tidy(row.name) or _tidy(parsed.display_name)
    return Wanted(line, row if name == row.name else replace(row, name=name), parsed, cells)


def _tidy(name: str) -> str:
    # What is printable has none of the characters that would have to go: most names.
    is_tidy = len(name) <= LONGEST_NAME and name.isprintable() and "  " not in name
    return name.strip() if is_tidy else tidy_name(name)
