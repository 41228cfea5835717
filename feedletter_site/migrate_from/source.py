"""A new source is a package beside cordfeeder/ and an entry of `SOURCES`."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.utils.module_loading import import_string

from common.refused import Refused
from common.text import pluralize
from feedletter_site.models import Origin
from feeds.models import Feed
from feeds.polling.read import Reading
from migrate_from.records import ImportResult, Line, Options, Question
from subscriptions.rules.lists.formulas import as_text

SOURCES: Mapping[str, str] = {
    "cordfeeder": "feedletter_site.migrate_from.servers.CordFeeder",
    "feedletter": "feedletter_site.migrate_from.mailers.Feedletter",
    "microsub": "feedletter_site.migrate_from.microsub.Microsub",
    "rss2email": "feedletter_site.migrate_from.mailers.Rss2Email",
}
COLUMNS = ("what", "kind", "name", "words")
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


class Part(ABC):
    name: Any

    @abstractmethod
    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Change nothing, and ask no feed."""

    @abstractmethod
    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Take over what is missing, in several transactions with network calls in between.

        Must be resumable, and send nothing if it is interrupted. Raises Refused if no part can be taken.
        """

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        """Return the existing or an unsaved feed, or None if nothing is taken. Changes nothing.

        Raises Refused and ValidationError.
        """
        return None

    def take_feed(
        self, origins: Origins, answer: Reading, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        """Return the feed after `take`, and the titles of posts that it would send, by their keys.

        `answer` is what its server has just sent. The caller rolls back. Raises Refused and ValidationError.
        """
        raise Refused("It has no feed.")


@dataclass(frozen=True, slots=True)
class Plan:
    """`refused` cannot be taken; `notes` are about everything; `environment` has settings for this site.

    `questions` have an answer already, which can be changed.
    """

    parts: Sequence[Part]
    refused: Sequence[Line] = ()
    notes: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    questions: Sequence[Question] = ()
    # Names what an earlier import brought, and this state lacks.
    gone: Callable[[Origins], Iterable[Line]] = lambda origins: ()


class Source(ABC):
    """`second` is the ending of an upload's second file; `file_help` and `second_help` explain both files.

    `needs_zone`: its times have no zone, so that of its machine must be given. `needs_reader`: it is for a
    person who reads here. `has_unsent`: it may have left unsent issues and queues. `secrets`: beginnings of
    the names of those it uses.
    """

    key: str
    name: str
    file_help: str
    second = second_help = ""
    needs_second = needs_zone = needs_reader = has_unsent = False
    secrets: tuple[str, ...] = ()

    @abstractmethod
    def read(self, place: str, *, options: Options, now: datetime) -> Plan:
        """Read a file, a folder or a database's URL, and write nothing there. Raises Refused, Undecided."""

    def prepare(self, *, now: datetime) -> None:  # noqa: B027 - most need nothing
        """Check that anything can be taken (network). Raises Refused."""


def source_called(key: str) -> Source:
    """Raises KeyError."""
    made: Source = import_string(SOURCES[key])()
    return made
