"""What a program that people come from has to say. A source reads it into parts, and each part takes itself.

A new source is a folder beside cordfeeder/, and a line in `SOURCES`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from django.utils.module_loading import import_string

from feedletter_site.migrate_from.report import Line, Origins
from feeds.models import Feed

SOURCES: Mapping[str, str] = {"cordfeeder": "feedletter_site.migrate_from.cordfeeder.source.CordFeeder"}


class Part(Protocol):
    """A feed that is taken with all that belongs to it, such as the servers that have it."""

    # For people.
    @property
    def name(self) -> str: ...

    def preview(self, origins: Origins) -> Sequence[Line]:
        """What `take` would say, as far as our own rows tell. Changes nothing, and asks nobody."""
        ...

    def take(self, origins: Origins, *, now: datetime) -> Sequence[Line]:
        """Takes what is not here yet, in transactions of its own; the network is asked between them.

        Whoever is killed within it leaves nothing that sends, and the next run goes on. Raises Refused for
        what stands in the way of all parts.
        """
        ...

    def feed_ahead(self, origins: Origins, *, now: datetime) -> Feed | None:
        """The feed as it is here, or an unsaved one; None where nothing of it is taken. Changes nothing.

        Raises Refused and ValidationError.
        """
        ...

    def take_feed(self, origins: Origins, *, now: datetime) -> tuple[Feed, Mapping[int, str]]:
        """The row as it is read after `take`, and the titles, by their keys, of posts that wait in it and
        would be sent. In the caller's transaction, which is undone. Raises Refused and ValidationError."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """What is there to take, in order; `refused` is what cannot be, and `notes` are about all of it."""

    parts: Sequence[Part]
    refused: Sequence[Line] = ()
    notes: Sequence[str] = ()


class Source(Protocol):
    # Of SOURCES, and for people.
    key: str
    name: str

    def read(self, place: Path, *, now: datetime) -> Plan:
        """Reads all of it, and writes nothing there. Raises Refused."""
        ...

    def prepare(self, *, now: datetime) -> None:
        """Looks whether anything can be taken at all (network). Raises Refused."""
        ...


def source_called(key: str) -> Source:
    """Raises KeyError."""
    made: Source = import_string(SOURCES[key])()
    return made
