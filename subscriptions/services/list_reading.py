"""From the lines of a list to what each asks for, a batch at a time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from django.core.exceptions import ValidationError

from common import kinds
from common.kinds import InvalidDestination, Kind, ParsedDestination
from subscriptions.models import Subscribable
from subscriptions.rules.list_headings import Heading, NoList, heading
from subscriptions.rules.list_rows import ListRow, RefusedLine, read_row
from subscriptions.rules.sign_up import LONGEST_NAME, tidy_name
from subscriptions.services.csv_lines import Head, Record
from subscriptions.services.list_report import BATCH, Refused


@dataclass(frozen=True, slots=True)
class Terms:
    """What holds for a whole list: the status of lines that say none, and how these people agreed."""

    status: str = "unconfirmed"
    words: str = ""


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
    refused: list[Refused] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.wanted) + len(self.refused)


def kind_of_list(subscribable: Subscribable) -> Kind:
    """The newsletter's channel. Raises ValidationError for a bridge, which has no list."""
    kind = kinds.get(subscribable.channel)
    if all(each.name != "email" for each in kind.destination_fields):
        raise ValidationError(
            f"{subscribable} goes to {kind.label}: lists are for newsletters by e-mail. Use “subscribe”."
        )
    return kind


def heading_of(head: Head) -> Heading:
    """What the columns mean. Raises ValidationError when there is no email among them."""
    try:
        return heading(head.names)
    except NoList as error:
        raise ValidationError(str(error)) from error


def batches(
    records: Iterable[Record], *, columns: Heading, kind: Kind, terms: Terms, now: datetime
) -> Iterator[Batch]:
    """The lines in batches; takes no line before it is its turn."""
    batch = Batch()
    for line, cells in records:
        read = _read(line, cells, columns, kind, terms, now)
        if isinstance(read, Refused):
            batch.refused.append(read)
        else:
            batch.wanted.append(read)
        if len(batch) >= BATCH:
            yield batch
            batch = Batch()
    if len(batch):
        yield batch


def _read(
    line: int, cells: list[str] | str, columns: Heading, kind: Kind, terms: Terms, now: datetime
) -> Wanted | Refused:
    if isinstance(cells, str):
        return Refused(line, cells)
    try:
        row = read_row(columns.row(cells), now=now, status=terms.status)
        parsed = kind.parse_destination({"email": row.email})
    except (RefusedLine, InvalidDestination) as error:
        return Refused(line, str(error), tuple(cells))
    name = _tidy(row.name) or _tidy(parsed.display_name)
    return Wanted(line, row if name == row.name else replace(row, name=name), parsed, cells)


def _tidy(name: str) -> str:
    # What is printable has none of the characters that would have to go: most names.
    is_tidy = len(name) <= LONGEST_NAME and name.isprintable() and "  " not in name
    return name.strip() if is_tidy else tidy_name(name)
