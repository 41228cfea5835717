"""A new source is a package beside cordfeeder/ and an entry of `SOURCES`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from django.utils.module_loading import import_string

from common.refused import Refused
from feedletter_site.migrate_from.report import Line, Origins
from feeds.models import Feed
from feeds.polling.read import FetchResult

SOURCES: Mapping[str, str] = {
    "cordfeeder": "feedletter_site.migrate_from.cordfeeder.source.CordFeeder",
    "feedletter": "feedletter_site.migrate_from.feedletter.source.Feedletter",
    "microsub": "feedletter_site.migrate_from.microsub.source.Microsub",
    "rss2email": "feedletter_site.migrate_from.rss2email.source.Rss2Email",
}


class Part(Protocol):
    @property
    def name(self) -> str: ...

    def preview(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Change nothing, and ask no feed."""
        ...

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Take over what is missing, in several transactions with network calls in between.

        Must be resumable, and send nothing if it is interrupted. Raises Refused if no part can be taken.
        """
        ...

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        """Return the existing or an unsaved feed, or None if nothing is taken. Changes nothing.

        Raises Refused and ValidationError.
        """
        ...

    def take_feed(
        self, origins: Origins, answer: FetchResult, *, now: datetime
    ) -> tuple[Feed, Mapping[int, str]]:
        """Return the feed after `take`, and the titles of posts that it would send, by their keys.

        `answer` is what its server has just sent. The caller rolls back. Raises Refused and ValidationError.
        """
        ...


@dataclass(frozen=True, slots=True)
class Question:
    """Question about a file, for one of its Options. Choices: values and labels."""

    option: str
    label: str
    choices: Sequence[tuple[str, str]]


class Undecided(Refused):
    """Nothing can be taken before these questions are answered."""

    def __init__(self, message: str, questions: Sequence[Question]) -> None:
        super().__init__(message)
        self.questions = questions


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


@dataclass(frozen=True, slots=True)
class Options:
    """`zone` is the other machine's. `secrets` are the other program's, by their names there.

    `reader` is the slug of the reader to import for, `user` the person's id there. `orphans`: take what is
    nobody's, too.
    """

    zone: str = ""
    sends_stale: bool = False
    keeps_queued: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    reader: str = ""
    user: str = ""
    orphans: bool = False


class Source(Protocol):
    """`second` is the ending of an upload's second file; `file_help` and `second_help` explain both files.

    `needs_zone`: its times have no zone, so that of its machine must be given. `needs_reader`: it is for a
    person who reads here. `has_unsent`: it may have left unsent issues and queues. `secrets`: beginnings of
    the names of those it uses.
    """

    key: str
    name: str
    file_help: str
    second: str
    second_help: str
    needs_second: bool
    needs_zone: bool
    needs_reader: bool
    has_unsent: bool
    secrets: tuple[str, ...]

    def read(self, place: str, *, options: Options, now: datetime) -> Plan:
        """Read a file, a folder or a database's URL, and write nothing there. Raises Refused, Undecided."""
        ...

    def prepare(self, *, now: datetime) -> None:
        """Check that anything can be taken (network). Raises Refused."""
        ...


def source_called(key: str) -> Source:
    """Raises KeyError."""
    made: Source = import_string(SOURCES[key])()
    return made
