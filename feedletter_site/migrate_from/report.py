"""What became of each thing that another program had: nothing is passed over in silence."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db import IntegrityError, transaction

from common.text import pluralize
from feedletter_site.models import Origin
from subscriptions.rules.lists.formulas import as_text


class TakenMeanwhile(Exception):
    """Another run has just taken it."""


class Origins:
    """Those of one source. Each is written in the transaction that makes its row."""

    def __init__(self, source: str) -> None:
        self._rows = Origin.objects.filter(source=source)
        self._source = source

    def find(self, kind: str, old_key: str) -> Origin | None:
        return self._rows.filter(kind=kind, old_key=old_key).first()

    def note(self, kind: str, old_key: str, row: int, *, now: datetime, finished: bool = False) -> None:
        """In the caller's transaction, which raises TakenMeanwhile where another run was quicker."""
        values = {"row": row, "taken_at": now, "finished_at": now if finished else None}
        try:
            with transaction.atomic():
                Origin.objects.create(source=self._source, kind=kind, old_key=old_key, **values)
        except IntegrityError as error:
            raise TakenMeanwhile from error

    def renew(self, origin: Origin, row: int) -> None:
        """Another row stands for it now, whose making is not finished."""
        self._rows.filter(pk=origin.pk).update(row=row, finished_at=None)

    def finish(self, kind: str, old_key: str, *, now: datetime) -> None:
        self._rows.filter(kind=kind, old_key=old_key, finished_at=None).update(finished_at=now)


class ImportResult(StrEnum):
    TAKEN = "taken"
    CHANGED = "changed"
    REFUSED = "not taken"
    THERE = "there already"
    # Of posts, once the feeds were read: new after the take-over, or first a person decides.
    NEW = "new"
    ASKS = "asks first"
    UNREAD = "not read"


# What needs a person comes first.
ORDER = (
    ImportResult.REFUSED,
    ImportResult.UNREAD,
    ImportResult.NEW,
    ImportResult.ASKS,
    ImportResult.CHANGED,
    ImportResult.TAKEN,
    ImportResult.THERE,
)
READING = (ImportResult.NEW, ImportResult.ASKS, ImportResult.UNREAD)
COLUMNS = ("what", "kind", "name", "words")


@dataclass(frozen=True, slots=True)
class Line:
    """`kind` and `name` say what it is, as people of the other program know it; `words` why, or how.

    `count`: it stands for so many of the kind.
    """

    fate: ImportResult
    kind: str
    name: str
    words: str = ""
    count: int = 1

    def row(self) -> dict[str, str]:
        return {"what": self.fate.value, "kind": self.kind, "name": self.name, "words": self.words}


@dataclass(slots=True)
class Report:
    """`notes` are about all of it. With `is_dry_run` it says what would be done; `is_read`: the feeds were
    read, to see what would be new."""

    source: str
    is_dry_run: bool
    is_read: bool = False
    lines: list[Line] = field(default_factory=list)
    notes: Sequence[str] = ()

    def add(self, lines: Iterable[Line]) -> None:
        self.lines.extend(lines)

    def counts(self) -> dict[str, int]:
        """How many things there are of each fate."""
        found = Counter[ImportResult]()
        for line in self.lines:
            found[line.fate] += line.count
        return {fate.value: found[fate] for fate in ImportResult if self.is_read or fate not in READING}

    def by_need(self) -> list[Line]:
        """What needs a person first."""
        return sorted(self.lines, key=lambda line: ORDER.index(line.fate))

    def about_reading(self) -> list[str]:
        """What the reading of the feeds has shown, if they were read."""
        if not self.is_read:
            return []
        said = [f"The feeds were read: {pluralize(self.counts()[ImportResult.NEW], 'post')} would be new."]
        if self.counts()[ImportResult.UNREAD]:
            said.append("Of feeds that were not read nobody knows what would be new.")
        return said


def csv_rows(rows: Iterable[Iterable[str]]) -> Iterator[list[str]]:
    """The report for spreadsheets, its heading first; `rows` have its COLUMNS."""
    yield list(COLUMNS)
    for row in rows:
        yield [as_text(cell) for cell in row]
