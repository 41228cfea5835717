from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from django.db import IntegrityError, transaction

from common.text import pluralize
from feedletter_site.models import Origin
from subscriptions.rules.lists.formulas import as_text


class TakenMeanwhile(Exception):
    """Another run was faster."""


class Origins:
    """Origins from one source, each created in the transaction of its row."""

    def __init__(self, source: str) -> None:
        self._rows = Origin.objects.filter(source=source)
        self._source = source

    def find(self, kind: str, old_key: str) -> Origin | None:
        return self._rows.filter(kind=kind, old_key=old_key).first()

    def all(self, kind: str, prefix: str = "") -> dict[str, int]:
        """Return our rows by old keys."""
        rows = self._rows.filter(kind=kind, old_key__startswith=prefix)
        return dict(rows.order_by("pk").values_list("old_key", "row"))

    def note(self, kind: str, old_key: str, row: int, *, now: datetime, finished: bool = False) -> None:
        """Raises TakenMeanwhile if another run was faster."""
        values = {"row": row, "taken_at": now, "finished_at": now if finished else None}
        try:
            with transaction.atomic():
                Origin.objects.create(source=self._source, kind=kind, old_key=old_key, **values)
        except IntegrityError as error:
            raise TakenMeanwhile from error

    def renew(self, origin: Origin, row: int) -> None:
        """Replace the row; the new one is not finished."""
        self._rows.filter(pk=origin.pk).update(row=row, finished_at=None)

    def is_newer(self, origin: Origin, at: datetime) -> bool:
        """Return whether this state isn't older than the newest one that was imported, and remember it."""
        if at > origin.taken_at:
            self._rows.filter(pk=origin.pk).update(taken_at=at)
        return at >= origin.taken_at

    def finish(self, kind: str, old_key: str, *, now: datetime) -> None:
        self._rows.filter(kind=kind, old_key=old_key, finished_at=None).update(finished_at=now)


class ImportResult(StrEnum):
    TAKEN = "taken"
    CHANGED = "changed"
    REFUSED = "not taken"
    GONE = "gone there"
    THERE = "there already"
    NEW = "new"
    ASKS = "asks first"
    UNREAD = "not read"


ORDER = (
    ImportResult.REFUSED,
    ImportResult.GONE,
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
    """`kind` and `name` are the other program's; `count` things are summarized."""

    fate: ImportResult
    kind: str
    name: str
    words: str = ""
    count: int = 1

    def row(self) -> dict[str, str]:
        return {"what": self.fate.value, "kind": self.kind, "name": self.name, "words": self.words}


@dataclass(slots=True)
class Report:
    source: str
    is_dry_run: bool
    is_read: bool = False
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, lines: Iterable[Line]) -> None:
        self.lines.extend(lines)

    def counts(self) -> dict[str, int]:
        numbers = Counter[ImportResult]()
        for line in self.lines:
            numbers[line.fate] += line.count
        return {fate.value: numbers[fate] for fate in ImportResult if self.is_read or fate not in READING}

    def by_need(self) -> list[Line]:
        return sorted(self.lines, key=lambda line: ORDER.index(line.fate))

    def about_reading(self) -> list[str]:
        if not self.is_read:
            return []
        sentences = [
            f"The feeds were read: {pluralize(self.counts()[ImportResult.NEW], 'post')} would be new."
        ]
        if self.counts()[ImportResult.UNREAD]:
            sentences.append("New posts of feeds that were not read are unknown.")
        return sentences


def csv_rows(rows: Iterable[Iterable[str]]) -> Iterator[list[str]]:
    yield list(COLUMNS)
    for row in rows:
        yield [as_text(cell) for cell in row]
